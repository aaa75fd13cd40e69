"""A helper that does no work: it answers each request with an error that holds the variables of its environment."""

from __future__ import annotations

import json
import os
import sys

for _ in sys.stdin:
    print(json.dumps({"error": "OptionsError", "message": json.dumps(dict(os.environ))}), flush=True)
