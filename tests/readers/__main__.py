"""Read Delta and Iceberg tables with engines of other makers after each change: python -m tests.readers INTERPRETER.

The interpreter is of an environment that has chDB and DuckDB with its extensions, which `tools/readers.sh` makes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Change
from tests.sinks.kinds import Bench, opened_iceberg

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_FILTERS = ("true", "id >= 5", "name = 'é 6'", "day = '2026-01-03'", "id < 0")

#: Options of the tables that are tried, by name.
_TABLES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "a Delta table": ("delta", {"schema": "add_columns"}),
    "a Delta table in partitions": ("delta", {"schema": "add_columns", "partition_by": ["day"]}),
    "an Iceberg table": ("iceberg", {"schema": "add_columns"}),
    "an Iceberg table in partitions": (
        "iceberg",
        {"schema": "add_columns", "partition_by": ["day(at)", "bucket(4, id)"]},
    ),
}

Rows = list[list[Any]]
Ask = Callable[[Mapping[str, str]], Any]


def main(interpreter: str) -> int:
    """Try each table with each engine, print what they read, and return 1 if anything was not as it was published."""
    wrong = 0
    with _engines(interpreter) as ask:
        versions = ask({})
        for name, (kind, options) in _TABLES.items():
            with TemporaryDirectory() as folder:
                wrong += _try(ask, versions, name, Bench(kind, f"{folder}/out", options))
    return int(wrong > 0)


@contextmanager
def _engines(interpreter: str) -> Iterator[Ask]:
    # chDB opens what is below its working folder.
    command = [interpreter, str(Path(__file__).with_name("engines.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/") as process:
        questions, answers = process.stdin, process.stdout
        if questions is None or answers is None:
            raise RuntimeError(command)

        def ask(question: Mapping[str, str]) -> Any:
            if question:
                print(json.dumps(question), file=questions, flush=True)
            return json.loads(answers.readline())

        yield ask


def _try(ask: Ask, engines: Mapping[str, str], name: str, bench: Bench) -> int:
    """Publish, replace and undo windows, and compare what each engine reads after each change; return the failures."""
    wrong = asked = 0
    for change, expected in _changes(bench):
        for engine, where in product(engines, _FILTERS):
            found = ask({"engine": engine, "where": where, **_place(bench)})
            asked += 1
            if found != (wanted := _only(expected, where)):
                wrong += 1
                print(f"{engine} {engines[engine]}, {name}, {change}, WHERE {where}: {found}, not {wanted}")
    print(f"{name}: {asked} answers of {', '.join(' '.join(named) for named in engines.items())}, {wrong} wrong")
    return wrong


def _changes(bench: Bench) -> Iterator[tuple[str, Rows]]:
    """Yield each change once it is made, and the rows that are there then."""
    first = _publish(bench, "w1", range(1, 7))
    yield "published", _rows(range(1, 7))
    _publish(bench, "w2", range(7, 10), more=True)
    yield "a second window with a new column", _rows(range(1, 10))
    again = _publish(bench, "w1", range(1, 4), earlier=first, generation=2)
    yield "the first one rebuilt with fewer rows", _rows([*range(1, 4), *range(7, 10)])
    bench.sink.undo(bench.placed(again, 2), bench.marker_of("w1", 2, Change.WITHDRAW))
    yield "the first one undone", _rows(range(7, 10))


def _publish(
    bench: Bench,
    window: str,
    ids: Sequence[int],
    *,
    earlier: Sequence[OutputFile] = (),
    generation: int = 1,
    more: bool = False,
) -> list[OutputFile]:
    """Publish rows of a window in two files."""
    bench.marker = bench.marker_of(window, generation)
    target, files = bench.sink.prepare(None, f"{bench.option.work_area}/stage"), list[OutputFile]()
    for attempt in range(2):
        rows = _table(ids[attempt::2], more=more)
        name = AttemptName(window=window, generation=generation, group=0, epoch=1, attempt=attempt)
        writer = bench.sink.writer(target, name, rows.schema)
        for batch in rows.to_batches():
            writer.write(batch)
        files += writer.close()
    bench.apply(bench.steps(files, earlier))
    return files


def _table(ids: Sequence[int], *, more: bool) -> pa.Table:
    at = [_EPOCH + timedelta(hours=12 * number) for number in ids]
    columns = {
        "id": pa.array(ids, pa.int64()),
        "at": pa.array(at, pa.timestamp("us", "UTC")),
        "day": pa.array([moment.date() for moment in at], pa.date32()),
        "name": pa.array([_name(number) for number in ids], pa.string()),
        "amount": pa.array([number / 8 for number in ids], pa.float64()),
    }
    return pa.table(columns | ({"more": pa.array(["x"] * len(ids))} if more else {}))


def _rows(ids: Sequence[int]) -> Rows:
    """Return rows as engines answer."""
    found = zip(ids, (_EPOCH + timedelta(hours=12 * number) for number in ids), strict=True)
    micros = timedelta(microseconds=1)
    return [
        [number, _name(number), number / 8, f"{at:%Y-%m-%d}", (at - datetime(1970, 1, 1, tzinfo=UTC)) // micros]
        for number, at in found
    ]


def _name(number: int) -> str | None:
    return None if number % 4 == 0 else f"é {number}"


def _only(rows: Rows, where: str) -> Rows:
    """Return those rows that a filter keeps."""
    keeps: Mapping[str, Callable[[list[Any]], bool]] = {
        "true": lambda _: True,
        "id >= 5": lambda row: row[0] >= 5,
        "name = 'é 6'": lambda row: row[1] == "é 6",
        "day = '2026-01-03'": lambda row: row[3] == "2026-01-03",
        "id < 0": lambda row: row[0] < 0,
    }
    return [row for row in rows if keeps[where](row)]


def _place(bench: Bench) -> dict[str, str]:
    """Return where engines find the table."""
    if bench.kind == "delta":
        return {"form": "delta", "place": bench.place, "metadata": ""}
    table = opened_iceberg(bench.place)
    return {
        "form": "iceberg",
        "place": table.location().removeprefix("file://"),
        "metadata": table.metadata_location.removeprefix("file://"),
    }


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
