"""A window that is published, or failed at a file, and that file corrected then; what tests of it share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.ledger.windows.queries import list_files
from airflow_provider_blockread.steps import WindowRef
from airflow_provider_blockread.steps.model import Published
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange, rebuild
from tests.pipeline.make import Pipe

OLD = ["a1", "a2", "b1", "b2", "c1", "c2"]
NEW = ["a1", "a2", "b3", "b4", "b5", "c1", "c2"]
ONCE = [(6, "replaced", True), (9, "done", True)]


class Died(BaseException):
    """A process that is gone."""


def fail(here: Pipe) -> WindowRef:
    """Plan three files in three groups, read two of them, and fail at the other, which is corrected then."""
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\n\xff2\n", "c.txt": b"c1\nc2\n"})
    here.group_bytes = 6
    ref = here.plan()
    here.read(ref, groups=[0, 2])
    with pytest.raises(RecordError):
        here.read(ref, groups=[1])
    correct(here)
    return ref


def correct(here: Pipe, *records: str) -> None:
    """Let file b land with other records."""
    here.put({"b.txt": "".join(f"{record}\n" for record in records or ("b3", "b4", "b5")).encode()})


def publish(here: Pipe) -> dict[str, str]:
    """Publish three files in three groups; return the name of the output file of each."""
    here.put({f"{name}.txt": f"{name}1\n{name}2\n".encode() for name in "abc"})
    here.group_bytes = 6
    here.run()
    return dict(zip("abc", here.published(), strict=True))


def states(here: Pipe) -> list[tuple[int, str, bool]]:
    """Return size, state and whether a window holds it, of each version of b, the oldest first."""
    rows = [row for row in list_files(here.env.ledger, "feed") if row.version.path.endswith("b.txt")]
    return [(r.version.size, r.state, r.window is not None) for r in sorted(rows, key=lambda row: row.file)]


def carry_out(here: Pipe, asked: RebuildRequest) -> list[Published]:
    """Rebuild what a request asks for."""
    runner = WindowRunner(env=here.env, owner=here.owner, job=here.job, submitter=here.submitter)
    return rebuild(here.env, asked, runner)


def reprocess(here: Pipe, path: str | None = None) -> list[int]:
    """Reprocess window w, and return the generations that were published."""
    asked = RebuildRequest(range=WindowRange(window="w", feed="feed"), files=FileChoice(path=path))
    return [done.generation for done in carry_out(here, asked)]


def die(*_: object, **__: object) -> None:
    """Be gone."""
    raise Died


def kill(patch: pytest.MonkeyPatch, module: object, step: str, *, after: bool) -> None:
    """Let the process be gone at a step, before or after it is done."""
    done: Callable[..., object] = getattr(module, step)

    def dies(*args: object, **options: object) -> None:
        if after:
            done(*args, **options)
        raise Died

    patch.setattr(module, step, dies)
