"""The Transformer of "Attention Is All You Need", built piece by piece."""

import sys
from importlib.metadata import version

__version__ = version("transformer-course")

# jsonschema, which Altair and JupyterLab import, looks for this checker of addresses, which comes
# with JupyterLab. Building its grammar takes as long as importing PyTorch; nobody here asks it.
sys.modules.setdefault("rfc3987_syntax", None)
