"""Rows that an output refuses at the commit: once the function is corrected, the next run reads them again."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import SINKS, ArrowFunction
from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, propose_abandoning
from tests.pipeline.correcting import carry_out
from tests.pipeline.make import Pipe, ReadHere
from tests.sinks.kinds import KINDS

pytestmark = pytest.mark.slow  # into each kind of table

_KIND = pa.int64()


def typed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the values as the type of the moment."""
    return pa.RecordBatch.from_arrays([pc.utf8_length(batch.column("value")).cast(_KIND)], ["value"])


@pytest.mark.parametrize("kind", ["parquet", *(name for name in SINKS if KINDS[name].table)])
@pytest.mark.parametrize("clear_number", [0, 1])
def test_rows_of_another_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, clear_number: int) -> None:
    """The window does not stay half published; what the refused generations would have added is not there."""
    options = {"log": True} if kind == "parquet" else {}
    function = ArrowFunction(f"{__name__}:typed")
    here = Pipe(folder=tmp_path, submitter=ReadHere(), kind=kind, function=function, sink_options=options)
    here.put({"a.txt": b"a\n"})
    here.run("first")
    here.put({"b.txt": b"bb\nb\n"})
    monkeypatch.setattr(f"{__name__}._KIND", pa.string())
    for _ in range(2):  # an uncorrected one is refused again
        with pytest.raises(ProofError, match="value"):
            here.run()
    assert (here.state(), here.values()) == ("publishing", [1])
    monkeypatch.undo()
    ref = here.plan(clear_number=clear_number)
    assert "generation 2 was refused by its output: generation 3 starts" in ref.message
    done = here.run(clear_number=clear_number)

    assert (done.generation, here.values()) == (3, [1, 1, 2])
    assert here.plan("next").status == "empty"
    here.close()


def test_a_rebuild_whose_rows_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeated with a corrected function it reads again; what was published stays until then."""
    here = Pipe(folder=tmp_path, submitter=ReadHere(), kind="delta", function=ArrowFunction(f"{__name__}:typed"))
    here.put({"a.txt": b"a\n"})
    here.run()
    asked = RebuildRequest(range=WindowRange(window="w", feed="feed"))
    monkeypatch.setattr(f"{__name__}._KIND", pa.string())
    for _ in range(2):
        with pytest.raises(ProofError, match="value"):
            carry_out(here, asked)
    assert here.values() == [1]
    monkeypatch.undo()
    (done,) = carry_out(here, asked)

    assert (done.status, here.values()) == ("published", [1])
    here.close()


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_rebuild_that_is_refused_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """What was published before stays as it was, and is what the next clear replaces."""
    options = {"log": True} if kind == "parquet" else {}
    function = ArrowFunction(f"{__name__}:typed")
    here = Pipe(folder=tmp_path, submitter=ReadHere(), kind=kind, function=function, sink_options=options)
    for key in ("first", "w"):
        here.put({f"{key}.txt": b"a\n"})
        here.run(key)
    with monkeypatch.context() as patched:
        patched.setattr(f"{__name__}._KIND", pa.string())
        with pytest.raises(ProofError, match="value"):
            here.run(clear_number=1)
    window = get_window(here.env.ledger, "w")
    (line,) = propose_abandoning(here.env, window).lines()
    assert "generation 2" in line
    assert line.endswith("is given up; what is published stays, and so do its files")
    for _ in range(2):
        assert abandon(here.env, window, who="me").files_are == "done"

    assert (here.state(), here.values()) == ("superseded", [1, 1])
    done = here.run(clear_number=1)
    assert (done.generation, here.values()) == (3, [1, 1])
    here.close()
