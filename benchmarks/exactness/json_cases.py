"""JSON that is hard to split."""

from __future__ import annotations

import json
from collections.abc import Iterator

from airflow_provider_blockread.options import JsonArray, JsonLines
from benchmarks.exactness import calls
from benchmarks.exactness.case import Case, Maker, Row, rows

_SCHEMA = "id long, msg string"
_BAD = 1777  # the index of the bad line


def json_cases() -> Iterator[Case]:
    """Yield the cases."""
    make = Maker()
    records = rows(4000, lambda _: make.one_of('}, {"id": 1', "]", '"', "\\", '\n{"id": 2}\n', "[{"))
    pretty = [json.dumps(_object(record), indent=2, ensure_ascii=False) for record in records]
    yield Case(
        title="a JSON array, pretty-printed",
        files={"a.json": ("[\n" + ",\n".join(pretty) + "\n]\n").encode()},
        rows=records,
        option=JsonArray(schema=_SCHEMA),
        calls=calls.json("array"),
    )
    yield Case(
        title="JSON values one after another, pretty-printed",
        files={"a.json": "\n".join([*pretty, ""]).encode()},
        rows=records,
        option=JsonArray(schema=_SCHEMA),
        calls=calls.json("values"),
    )
    good = (*records[:_BAD], *records[_BAD + 1 :])
    for title, line in (
        ("JSON lines, one with text where a number should be", '{"id": "n/a", "msg": "x"}'),
        ("JSON lines, one cut short", '{"id": 1777, "msg": "x'),
    ):
        lines = [json.dumps(_object(record)) for record in records]
        lines[_BAD] = line
        yield Case(
            title=title,
            files={"a.jsonl": "\n".join([*lines, ""]).encode()},
            rows=good,
            bad=1,
            option=JsonLines(schema=_SCHEMA),
            calls=calls.json_with_bad_lines(),
        )


def _object(record: Row) -> dict[str, object]:
    return {"id": int(record[0]), "msg": record[1]}
