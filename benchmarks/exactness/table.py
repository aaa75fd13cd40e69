"""The document: the table of answers, and how each reader was called."""

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

#: The page that these runs are written to.
PAGE = Path(__file__).resolve().parents[2] / "docs" / "exactness.md"
OURS = "blockread"
_ERROR_CHARS = 80
_INTRODUCTION = """# Exactness

What readers return for files that are hard to split, next to the truth. A program wrote this page from actual runs:

```console
$ make exactness
```

{versions}.

Each file is made by the program together with its records, and every row of an answer is compared with them, not their
number alone. Readers are called as their documentation says for such a file ([below](#calls)), with options of their
own and no code around them. Splits are {block} bytes: Spark's `maxPartitionBytes`, Dask's `blocksize`, pyarrow's
`block_size`, DuckDB's `buffer_size`, and the blocks of blockread, whose answers are published windows: scanned, read
on `local[2]`, proven. *One task*, *one thread* and pandas read a file in one piece, which is no use for a large one:
`multiLine`, which Spark needs for newlines in quotes and for arrays, does so, and *Spark, split* leaves it out.

* **exact**: all records, and nothing else, in any order. **refused**: an error, where the file is damaged.
* A number in bold stands for records that are lost, made up or torn apart, *without an error*.
* *error*: the reader gives up. Nothing wrong comes of it, and no records.
* *no option*: the reader has none for such a file.
"""
_BAD = "A bad record must be told apart: other records are wanted whole, and the bad one must not look like a good one."


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
    """Return what blockread's answer is worth, and in how many blocks it was given."""
    said = _cell(case, ours.answer)
    if said == "exact" and ours.answer.bad != case.bad:
        said = f"**{ours.answer.bad:,} bad records**"
    return f"{said}, {ours.blocks} blocks" if ours.blocks > 1 else said


def truth_text(case: Case) -> str:
    """Return how many records a case holds."""
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
