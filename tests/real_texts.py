"""Where the real texts are that some tests read: a folder of your own, or beside the repository."""

import os
from pathlib import Path

import pytest

from tools.sources import ROOT

DATA = Path(os.environ.get("TRANSFORMER_COURSE_DATA") or ROOT.parent / "shared" / "data")
MULTI30K, EUROPARL = DATA / "multi30k", DATA / "wmt14-sample"


def _needs(folder: Path) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not folder.is_dir(), reason=f"there is no folder {folder}")


needs_multi30k, needs_europarl = _needs(MULTI30K), _needs(EUROPARL)
