"""The command where it is not on the path: ``python -m transformer_course``."""

import sys

from transformer_course.cli import main

sys.exit(main())
