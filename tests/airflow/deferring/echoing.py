"""A helper that does no work: its answer is an error with the request and the environment.

It never answers a request to stop or to hang, and dies halfway in its answer to one to break off.
"""

from __future__ import annotations

import json
import os
import sys

for line in sys.stdin:
    echo = {"request": json.loads(line), "environment": dict(os.environ)}
    if echo["request"]["do"] in {"stop", "hang"}:
        continue
    text = json.dumps({"error": "OptionsError", "message": json.dumps(echo)})
    if echo["request"]["do"] == "break off":
        sys.stdout.write(text[:40])
        break
    print(text, flush=True)
