"""`python -m syncwatch`."""

import sys

# `-m` puts the current folder first; a project's own logging.py or types.py would stand for the library's in all that
# follows. `run` starts programs that import from there.
if sys.path and sys.path[0] and sys.argv[1:2] != ["run"]:
    sys.path.append(sys.path.pop(0))

from syncwatch.cli import main

sys.exit(main())
