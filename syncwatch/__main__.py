"""`python -m syncwatch`."""

import sys

from syncwatch.cli import main

sys.exit(main())
