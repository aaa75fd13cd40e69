"""Corrected csv files: columns that are inferred again or stay, and files that span groups."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.options import Csv
from tests.pipeline.make import Pipe

pytestmark = pytest.mark.slow


def _csv(here: Pipe, **files: str) -> None:
    here.put({f"{name}.csv": text.encode() for name, text in files.items()})


@pytest.mark.columns
def test_columns_are_inferred_again_where_the_corrected_file_decides(here: Pipe) -> None:
    """A header that was wrong is corrected: nothing is published under the old one, and all groups agree."""
    here.record_format, here.group_bytes = Csv(header=True), 12
    _csv(here, a="id,nmae\n1,x\n", b="id,name\n2,y\n")
    with pytest.raises(RecordError):
        here.run()
    _csv(here, a="id,name\n1,x\n")
    here.run(clear_number=1)

    assert sorted(here.rows(), key=lambda row: row["id"]) == [{"id": 1, "name": "x"}, {"id": 2, "name": "y"}]


@pytest.mark.columns
def test_columns_stay_where_others_decided(here: Pipe) -> None:
    """Results that were taken over, and what is read now, have the same columns."""
    here.record_format, here.group_bytes = Csv(header=True), 10
    _csv(here, **{f"{n}": f"id,n\n{n},{n}\n" for n in range(10, 19)})
    ref = here.plan()
    here.read(ref, groups=range(8))
    _csv(here, **{"18": "id,n\n18,77777777777\n"})
    ref = here.plan(clear_number=1)
    assert [outcome.done_before for outcome in here.read(ref)] == [True] * 8 + [False]
    here.commit(ref)

    assert len(here.attempt_files("schema-*.json")) == 2
    assert sorted(row["n"] for row in here.rows())[-2:] == [17, 77777777777]


@pytest.mark.columns
def test_a_file_that_spans_groups(here: Pipe) -> None:
    """All its groups are read again, under entry states that are found again; a neighbour keeps its own."""
    here.record_format, here.block_size, here.group_bytes = Csv(header=False, schema="a string, b string"), 12, 12
    text = "".join(f'{n},"x\n,""{n}"\n' for n in range(9))
    _csv(here, a=text, b=text.replace("x", "y"))
    ref = here.plan()
    here.read(ref)
    _csv(here, a=text.replace("x", '"",\n'))
    ref = here.plan(clear_number=1)
    assert ref.needs_scan
    outcomes = here.read(ref)
    here.commit(ref)

    done = [outcome.done_before for outcome in outcomes]
    assert done.index(True) > 1
    assert not any(done[: done.index(True)])
    assert all(done[done.index(True) :])
    expected = [f'",\n\n,"{n}' for n in range(9)] + [f'y\n,"{n}' for n in range(9)]
    assert sorted(row["b"] for row in here.rows()) == sorted(expected)
