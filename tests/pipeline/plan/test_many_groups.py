"""A window of many groups: the read of one looks at its own row of the ledger only."""

from __future__ import annotations

from typing import Any

from sqlalchemy import event

from tests.pipeline.make import Pipe


def test_a_read_asks_for_no_other_group(here: Pipe) -> None:
    """Otherwise the reads of a window take a time that grows with the square of its groups."""
    here.put({f"{number}.txt": b"x\n" for number in range(3)})
    here.group_bytes = 2
    ref = here.plan()
    asked: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        if statement.startswith("SELECT") and "\nFROM groups \n" in statement:
            asked.append(statement)

    engine = here.env.ledger._live_engine()
    event.listen(engine, "before_cursor_execute", note)
    try:
        here.read(ref, groups=[1])
    finally:
        event.remove(engine, "before_cursor_execute", note)

    assert asked
    assert [statement for statement in asked if "groups.number = " not in statement] == []
