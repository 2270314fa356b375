"""Runs the samples on the emulated device, in one process, and prints what a recorder counts in each, as JSON.

usage: python count_samples.py PROGRAM...
"""

import contextlib
import io
import json
import runpy
import sys
import traceback

from syncwatch import emulator
from syncwatch.runtime.session import Recording
from syncwatch.runtime.source import use_source

results = {}
with use_source(emulator.source()):
    for path in sys.argv[1:]:
        recording = Recording([path], only=[path])
        sys.argv = [path, "3"]
        error = ""
        recording.start()
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                runpy.run_path(path, run_name="__main__")
        except Exception:
            error = traceback.format_exc()
        recording.stop()
        session = recording.session()
        results[path] = {
            "error": error,
            "per_step": session.totals["per_step"],
            "lines": sorted({site.line for site in session.sites}),
            "in_steps": sorted({site.line for site in session.sites if site.in_steps}),
        }
print(json.dumps(results))
