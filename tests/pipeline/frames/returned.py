"""Functions on DataFrames with what they return, for each engine that has Spark's sessions."""

from __future__ import annotations

from airflow_provider_blockread.options import DataFrameFunction, FunctionOption, Sql

#: Records of the source, in three files.
COUNT = 400


def row(number: int) -> bytes:
    """Return a record of the source."""
    return b"%d,word %d\n" % (number, number % 7)


EVERY = [{"id": n, "word": f"word {n % 7}"} for n in range(COUNT)]


_SUMS = {"n": COUNT, "s": sum(range(COUNT)), "words": 7}

#: What each function returns.
RETURNED: dict[str, tuple[FunctionOption, list[dict[str, object]]]] = {
    "identity": (DataFrameFunction("user_frames:identity"), EVERY),
    "repartitioned": (DataFrameFunction("user_frames:repartitioned"), EVERY),
    "sort and limit": (DataFrameFunction("user_frames:largest"), EVERY[-3:]),
    "self-join": (DataFrameFunction("user_frames:joined"), [{"id": n, "before": n - 1} for n in range(1, COUNT)]),
    "cache": (DataFrameFunction("user_frames:cached"), [{"id": n, "total": COUNT} for n in (398, 399)]),
    "own session": (DataFrameFunction("user_frames:with_a_session"), [{"id": n} for n in range(3)]),
    "aggregate": (DataFrameFunction("user_frames:counted"), [_SUMS]),
    "declared": (DataFrameFunction("user_frames:counted", schema="n long, s long, words long"), [_SUMS]),
    "ignored": (DataFrameFunction("user_frames:ignores"), [{"n": 7}]),
    "empty": (DataFrameFunction("user_frames:none"), []),
    "odd names": (
        DataFrameFunction("user_frames:dotted"),
        [{"a.b": n, "c d": f"word {n % 7}"} for n in range(COUNT)],
    ),
    "filter": (Sql("SELECT id FROM records WHERE id < 2"), [{"id": 0}, {"id": 1}]),
    "query": (Sql("-- which\n(WITH r AS (SELECT * FROM records) SELECT max(id) AS id FROM r)"), [{"id": COUNT - 1}]),
}
