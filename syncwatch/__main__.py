"""`python -m syncwatch`."""

import sys

# `-m` puts the current folder first; a project's own logging.py or types.py would stand for the library's in all that
# follows. `run` starts programs that import from there.
if sys.path and sys.path[0] and sys.argv[1:2] != ["run"]:
    here = sys.path.pop(0)
else:
    here = ""

from syncwatch.cli import main

if here:
    sys.path.append(here)  # where a checkout is not installed, syncwatch itself is found there

sys.exit(main())
