"""The document: the table of answers, and the call of each reader."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.exactness.answers import Answer, verdict
from benchmarks.exactness.calls import RIVALS
from benchmarks.exactness.case import Case
from benchmarks.exactness.cases import all_cases
from benchmarks.exactness.ours import Ours
from benchmarks.exactness.worker import BLOCK

#: The generated page.
PAGE = Path(__file__).resolve().parents[2] / "docs" / "exactness.md"
OURS = "blockread"
_ERROR_CHARS = 80
_INTRODUCTION = """# Exactness

The answers of several readers for files that are hard to split, compared with the truth. This page is generated from
actual runs:

```console
$ make exactness
```

{versions}.

The program generates each file together with its records, and compares every row of an answer with them, not only their
number. Readers are called as their documentation says for such a file ([below](#calls)), with their own options only.
Splits are {block} bytes: Spark's `maxPartitionBytes`, Dask's `blocksize`, pyarrow's
`block_size`, DuckDB's `buffer_size`, and the blocks of blockread, whose answers are published windows: scanned, read
on `local[2]`, proven. *One task*, *one thread* and pandas read a file in one piece, which does not scale to large
files. Spark needs `multiLine` for newlines in quotes and for arrays, and with it also reads a file in one piece;
*Spark, split* omits it.

* **exact**: exactly the records, in any order. **refused**: an error, where the file is damaged.
* A number in bold means records that are lost, invented or split, *without an error*.
* *error*: the reader fails, and returns no records, neither right nor wrong ones.
* *no option*: the reader has no option for such a file.
"""
_BAD = (
    "A bad record must be recognisable: all other records are complete, and the bad one does not look like a good one."
)


def document(answers: Mapping[str, Sequence[Answer | None]], ours: Sequence[Ours]) -> str:
    """Return the page; `answers` and `ours` are in the order of the cases."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("pyspark", "duckdb", "pandas", "dask", "pyarrow"))
    introduction = _INTRODUCTION.format(versions=f"Python {platform.python_version()}, {versions}", block=f"{BLOCK:,}")
    lines = [introduction, _row(("file", "records", *RIVALS.values(), OURS)), "|" + " --- |" * (len(RIVALS) + 3)]
    for number, case in enumerate(all_cases()):
        cells = [_cell(case, answers[rival][number]) for rival in RIVALS]
        lines.append(_row((case.title, truth_text(case), *cells, our_cell(case, ours[number]))))
    return "\n".join([*lines, "", _BAD, "", calls_text()])


def our_cell(case: Case, ours: Ours) -> str:
    """Return the verdict on blockread's answer, and its number of blocks."""
    cell = _cell(case, ours.answer)
    if cell == "exact" and ours.answer.bad != case.bad:
        cell = f"**{ours.answer.bad:,} bad records**"
    return f"{cell}, {ours.blocks} blocks" if ours.blocks > 1 else cell


def truth_text(case: Case) -> str:
    """Return the number of records of a case."""
    if case.rows is None:
        return "damaged"
    count = f"{len(case.rows) - case.header:,}"
    return f"{count} and {case.bad} bad" if case.bad else count


def _cell(case: Case, answer: Answer | None) -> str:
    if answer is None:
        return "no option"
    said = " ".join(verdict(case, answer).split())
    return said if len(said) <= _ERROR_CHARS else said[:_ERROR_CHARS].rstrip() + " .."


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def cells_of(line: str) -> list[str]:
    """Return the cells of a row of the table."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def calls_text() -> str:
    """Return how each reader was called, for all cases."""
    lines = ["## Calls", "", f"`block` is {BLOCK}; `path` is the file, or a glob of all files of the case."]
    for case in all_cases():
        lines += ["", f"### {case.title}", ""]
        said: dict[str, str] = {}
        for rival, title in RIVALS.items():
            if call := case.calls.get(rival):
                said[call] = f"{said[call]}; {title}" if call in said else title
        lines += ["```text", *(f"{titles}\n    {call}" for call, titles in said.items())]
        lines += [f"{OURS}\n    {_option(case)}", "```"]
    return "\n".join([*lines, ""])


def _option(case: Case) -> str:
    defaults = type(case.option)()
    changed = {name: value for name, value in vars(case.option).items() if getattr(defaults, name) != value}
    return f"{type(case.option).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"
