"""One reader's answers: `python -m benchmarks.exactness.worker RIVAL FOLDER FIRST` prints a line of JSON for each case.

It is a separate process, so that a reader that crashes or hangs loses only its answer.
"""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import dask
import dask.bag as db
import dask.dataframe as dd
import duckdb
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
from pyarrow import csv
from pyarrow import json as pa_json

from benchmarks.exactness.case import Case
from benchmarks.exactness.cases import all_cases

BLOCK = 4096  # bytes of a split
_CORES = 2
_WHOLE = 2**30


def main(rival: str, folder: str, first: str) -> None:
    """Answer all cases from number `first` on."""
    warnings.simplefilter("ignore")
    read = _READERS[rival]()
    for number, case in enumerate(all_cases()):
        if number >= int(first) and case.calls.get(rival):
            print(json.dumps(_answer(read, case, rival, Path(folder, str(number)))), flush=True)


def _answer(read: Callable[[str, list[str]], Iterable[Any]], case: Case, rival: str, folder: Path) -> dict[str, object]:
    paths = [str(folder / name) for name in sorted(case.files)]
    try:
        found = list(read(case.calls[rival], paths))
    except Exception as error:  # noqa: BLE001 - any error of a reader is its answer
        return {"error": f"{type(error).__name__}: {error}"}
    return {"rows": [[as_text(value) for value in row] for row in found[0 if case.header else 1 :]]}


def as_text(value: object) -> str:
    """Return a value as text; a missing one is empty, and an integer has no decimal point."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _pattern(paths: list[str]) -> str:
    return paths[0] if len(paths) == 1 else str(Path(paths[0]).parent / "*")


def _evaluate(call: str, names: Mapping[str, object]) -> Any:  # noqa: ANN401 - each reader has a type of its own
    return eval(call, {"block": BLOCK, **names})  # noqa: S307 - the calls are our own


def _spark(split_bytes: int) -> Callable[[str, list[str]], Iterable[Any]]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{_CORES}]")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.files.maxPartitionBytes": split_bytes,
        "spark.sql.files.openCostInBytes": 0 if split_bytes < _WHOLE else _WHOLE,
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

    def read(call: str, paths: list[str]) -> Iterable[Any]:
        frame = _evaluate(call, {"spark": spark, "path": _pattern(paths)})
        return [frame.columns, *frame.collect()]

    return read


def _duckdb(threads: int) -> Callable[[str, list[str]], Iterable[Any]]:
    def read(call: str, paths: list[str]) -> Iterable[Any]:
        with duckdb.connect(config={"threads": threads}) as connection:
            query = call.replace("$path", f"'{_pattern(paths)}'").replace("$block", str(BLOCK))
            found = connection.execute(query)
            return [[column[0] for column in found.description or ()], *found.fetchall()]

    return read


def _pandas() -> Callable[[str, list[str]], Iterable[Any]]:
    def read(call: str, paths: list[str]) -> Iterable[Any]:
        frame = pd.concat([_evaluate(call, {"pd": pd, "path": path}) for path in paths])
        return [frame.columns, *frame.itertuples(index=False)]

    return read


def _dask() -> Callable[[str, list[str]], Iterable[Any]]:
    dask.config.set({"scheduler": "threads", "num_workers": _CORES, "dataframe.convert-string": False})

    def read(call: str, paths: list[str]) -> Iterable[Any]:
        found = _evaluate(call, {"dd": dd, "db": db, "path": _pattern(paths)}).compute()
        if isinstance(found, list):
            return [["value"], *([record] for record in found)]
        return [found.columns, *found.itertuples(index=False)]

    return read


def _pyarrow() -> Callable[[str, list[str]], Iterable[Any]]:
    def read(call: str, paths: list[str]) -> Iterable[Any]:
        names = {"pa": pa, "csv": csv, "json": pa_json}
        table = pa.concat_tables([_evaluate(call, {**names, "path": path}) for path in paths])
        return [table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)]

    return read


_READERS: Mapping[str, Callable[[], Callable[[str, list[str]], Iterable[Any]]]] = {
    "spark_split": lambda: _spark(BLOCK),
    "spark_whole": lambda: _spark(_WHOLE),
    "duckdb_split": lambda: _duckdb(_CORES),
    "duckdb_whole": lambda: _duckdb(1),
    "pandas": _pandas,
    "dask": _dask,
    "pyarrow": _pyarrow,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
