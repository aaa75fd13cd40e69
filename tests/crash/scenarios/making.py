"""What a scenario is, and the files that most of them read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.crash.doomed import Doomed, Tasks

FILES = {"a.csv": b'id,msg\n1,x\n2,"y\nz"\n', "b.csv": b"id,msg\n3,w\n4,v,u\n"}
BAD = [b"4,v,u"]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What happens before the crash, what is under way when it comes, and the records that must be published then."""

    name: str
    act: Callable[[Doomed, Tasks], object]
    setup: Callable[[Doomed], object] = lambda _: None  # in every process
    prepare: Callable[[Doomed], object] = lambda pipe: pipe.put_old(FILES)  # in the first one
    ids: list[int] = field(default_factory=lambda: [1, 2, 3])
    bad: list[bytes] = field(default_factory=lambda: BAD)
    into_tables: bool = True  # False: it is about files that are moved into a directory
    into: str = ""  # the only sink that it is about
    repeats: bool = False  # only as a whole: its tasks go different ways the second time
    makes_ledger: bool = False  # so that there is none before
