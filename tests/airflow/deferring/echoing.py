"""A helper that does no work: it answers each request with an error that holds the request and the environment."""

from __future__ import annotations

import json
import os
import sys

for line in sys.stdin:
    echo = {"request": json.loads(line), "environment": dict(os.environ)}
    print(json.dumps({"error": "OptionsError", "message": json.dumps(echo)}), flush=True)
