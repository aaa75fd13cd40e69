"""The sink that the documentation walks through, importable by the name that the page gives its module."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

PAGE = Path(__file__).parents[2] / "docs" / "how_to" / "own_sink.md"
MODULE = "arrow_directory"

#: The page's snippets of Python: the sink, its tests, and its option.
SNIPPETS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def _module() -> ModuleType:
    made = ModuleType(MODULE)
    exec(compile(SNIPPETS[0], str(PAGE), "exec"), made.__dict__)  # noqa: S102 - our own documentation
    return made


sys.modules[MODULE] = _module()
