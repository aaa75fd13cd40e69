"""The table of exactness is what its program writes, and blockread's column is true."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from benchmarks.exactness.answers import Answer, verdict
from benchmarks.exactness.calls import RIVALS
from benchmarks.exactness.case import Case
from benchmarks.exactness.cases import all_cases
from benchmarks.exactness.ours import answer_ours
from benchmarks.exactness.table import OURS, PAGE, calls_text, cells_of, our_cell, truth_text
from tests.pipeline.make import ReadHere

_CASES = all_cases()
_NUMBERED = [pytest.param(case, id=case.title) for case in _CASES]


def _is_right(cell: str, case: Case) -> bool:
    return cell.startswith("refused" if case.rows is None else "exact")


@pytest.mark.parametrize("case", _NUMBERED)
def test_blockread_is_exact(case: Case, tmp_path: Path) -> None:
    """Small blocks, all steps, proof: what is published is the truth, and damaged files publish nothing."""
    source, work = tmp_path / "in", tmp_path / "work"
    source.mkdir()
    work.mkdir()
    for name, data in case.files.items():
        (source / name).write_bytes(data)

    cell = our_cell(case, answer_ours(case, source, work, ReadHere()))

    assert _is_right(cell, case), cell


def test_the_page_is_what_the_program_writes() -> None:
    """Each case has its row, with its truth, a cell for every reader, and a last cell that is right."""
    page = PAGE.read_text("utf-8")
    rows = [cells_of(line) for line in page.splitlines() if line.startswith("| ")]

    assert rows[0] == ["file", "records", *RIVALS.values(), OURS]
    assert [row[:2] for row in rows[2:]] == [[case.title, truth_text(case)] for case in _CASES]
    assert [row for row, case in zip(rows[2:], _CASES, strict=True) if not _is_right(row[-1], case)] == []
    assert {len(row) for row in rows} == {len(RIVALS) + 3}
    assert page.endswith(calls_text())


def test_the_truth_is_what_python_reads() -> None:
    """Rows that Python's csv can read by itself are the rows that the cases were made from."""
    compared = 0
    for case in _CASES:
        option = vars(case.option)
        if case.option.kind != "csv" or option["escape"] or option["comment"] or option["encoding"] != "utf-8":
            continue
        texts = [io.StringIO(data.decode("utf-8-sig"), newline="") for data in case.files.values()]
        found = [[tuple(row) for row in csv.reader(text)] for text in texts]
        rows = [row for number, rows in enumerate(found) for row in rows[case.header and number > 0 :]]

        assert tuple(rows) == case.rows, case.title
        compared += 1
    assert compared == 7


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(rows=(("b",), ("a",))), "exact"),
        (Answer(rows=(("a",),)), "**1 rows**"),
        (Answer(rows=(("a",), ("c",))), "2 rows, **1 wrong**"),
        (Answer(rows=(("a",), ("b",), ("b",))), "**3 rows**"),
        (Answer(error="no"), "error: no"),
    ],
)
def test_an_answer_is_worth_what_it_holds(answer: Answer, expected: str) -> None:
    """Rows are compared, not counted, and their order does not matter."""
    case = Case(title="t", files={}, rows=(("a",), ("b",)), option=_CASES[0].option, calls={})

    assert verdict(case, answer) == expected


def test_damage_must_be_refused() -> None:
    """Rows of a damaged file are no answer."""
    case = Case(title="t", files={}, rows=None, option=_CASES[0].option, calls={})

    assert verdict(case, Answer(error="no")) == "refused"
    assert verdict(case, Answer(rows=(("a",),))) == "**1 rows, no error**"
