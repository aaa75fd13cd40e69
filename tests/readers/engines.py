"""Answers questions about tables by engines with readers of their own; runs in an environment that holds only these.

Each line of the input is a question in JSON, each line of the output its answer: rows, or the text of an error.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import chdb
import duckdb
import duckdb_extensions

_EXTENSIONS = ("avro", "delta", "iceberg")  # those that the package index has as wheels


class _ChDb:
    def rows(self, form: str, place: str, metadata: str, where: str) -> list[Any]:
        """Return rows; it finds the newest metadata in the folder of an Iceberg table itself."""
        del metadata
        table = f"{'deltaLakeLocal' if form == 'delta' else 'icebergLocal'}('{place}')"
        columns = "id, name, amount, toString(day), toUnixTimestamp64Micro(at)"
        answer = str(chdb.query(f"SELECT {columns} FROM {table} WHERE {where} ORDER BY id", "JSONCompact"))  # noqa: S608
        return [
            [int(number), name, amount, day, int(at)] for number, name, amount, day, at in json.loads(answer)["data"]
        ]


class _DuckDb:
    def __init__(self) -> None:
        self._connection = duckdb.connect()
        for name in _EXTENSIONS:
            duckdb_extensions.import_extension(name)
            self._connection.execute(f"LOAD {name}")

    def rows(self, form: str, place: str, metadata: str, where: str) -> list[Any]:
        """Return rows."""
        table = f"delta_scan('{place}')" if form == "delta" else f"iceberg_scan('{metadata}')"
        columns = 'id, name, amount, day::VARCHAR, epoch_us("at")'
        found = self._connection.execute(f"SELECT {columns} FROM {table} WHERE {where} ORDER BY id")  # noqa: S608
        return [list(row) for row in found.fetchall()]


def main() -> None:
    """Answer until the input ends."""
    engines = {"chDB": _ChDb(), "DuckDB": _DuckDb()}
    print(json.dumps({"chDB": chdb.__version__, "DuckDB": duckdb.__version__}), flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer: Any = engines[question.pop("engine")].rows(**question)
        except Exception as error:  # noqa: BLE001 - it is the answer
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
