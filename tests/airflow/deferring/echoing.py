"""A helper that does no work: its answer is an error with the request and the environment; one to stop has none."""

from __future__ import annotations

import json
import os
import sys

for line in sys.stdin:
    echo = {"request": json.loads(line), "environment": dict(os.environ)}
    if echo["request"]["do"] == "stop":
        continue
    print(json.dumps({"error": "OptionsError", "message": json.dumps(echo)}), flush=True)
