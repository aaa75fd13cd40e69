"""A user's own modules, which the server lacks."""

from __future__ import annotations

from pathlib import Path

_PIPELINE = Path(__file__).parents[2] / "pipeline"
MODULES = (
    *(str(_PIPELINE / name) for name in ("user_frames.py", "user_functions.py")),
    str(_PIPELINE.parent / "records" / "quoted_lines.py"),
)
