"""A program: imports modules behind a wall and exits with 1 when one of them imports what is beyond it.

Its one argument is JSON: `modules` to import, and either `refuse` (top-level names that cannot be imported), or
`only_stdlib` (nothing but the standard library and the modules' own packages can be).
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class Wall:
    """The finder that stands before all others on `sys.meta_path`."""

    def __init__(self, *, refuse: Sequence[str], only_stdlib: bool, own: Sequence[str]) -> None:
        """Refuse the named top-level packages, or all that are neither standard nor our own."""
        self.refuse = set(refuse)
        self.allowed = {*sys.stdlib_module_names, *own} if only_stdlib else None

    def find_spec(self, name: str, _path: object = None, _target: ModuleType | None = None) -> ModuleSpec | None:
        """Raise ImportError for what is refused, and leave everything else to the finders that follow."""
        top = name.partition(".")[0]
        if top in self.refuse or (self.allowed is not None and top not in self.allowed):
            msg = f"{name} is beyond the wall"
            raise ImportError(msg)
        return None


def main() -> int:
    """Import the modules one after the other and return the exit code."""
    task = json.loads(sys.argv[1])
    modules = task["modules"]
    own = {name.partition(".")[0] for name in modules}
    wall = Wall(refuse=task.get("refuse", ()), only_stdlib=task.get("only_stdlib", False), own=sorted(own))
    sys.meta_path.insert(0, wall)
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
