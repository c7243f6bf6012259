"""`python -m vlang` is the command `vlang`."""

import sys

from vlang.cli import main

sys.exit(main())
