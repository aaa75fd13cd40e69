"""The answers of the readers, compared with the truth."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.exactness.case import Case, Row
from benchmarks.exactness.cases import all_cases

_LIMIT_S = 180  # for one answer, including the start of the reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result for one case: rows, or an error; `bad` counts the records reported as bad."""

    rows: tuple[Row, ...] = ()
    bad: int = 0
    error: str = ""


def verdict(case: Case, answer: Answer) -> str:
    """Return the answer in a few words; `exact` only where it is the truth."""
    if answer.error:
        return "refused" if case.rows is None else f"error: {answer.error}"
    if case.rows is None:
        return f"**{len(answer.rows):,} rows, no error**"
    found = Counter(answer.rows)
    if any(found == Counter(truth) for truth in (case.rows, case.raw) if truth is not None):
        return "exact"
    heads = int(case.header)
    wrong = sum((found - Counter(case.rows)).values())
    count = f"{len(answer.rows) - heads:,} rows"
    return f"**{count}**" if len(answer.rows) != len(case.rows) else f"{count}, **{wrong:,} wrong**"


def write_files(folder: Path) -> None:
    """Write each case's files into a folder named by its number."""
    for number, case in enumerate(all_cases()):
        place = folder / str(number)
        place.mkdir()
        for name, data in case.files.items():
            (place / name).write_bytes(data)


def ask(rival: str, folder: Path) -> Iterator[tuple[Case, Answer | None]]:
    """Yield each case with a rival's answer, or None where it has no options for such a file."""
    todo = [(number, case) for number, case in enumerate(all_cases()) if case.calls.get(rival)]
    answers: dict[int, Answer] = {}
    while len(answers) < len(todo):
        lines, fate = _run(rival, folder, todo[len(answers)][0])
        for line in lines:
            answers[todo[len(answers)][0]] = _parse(line)
        if len(answers) < len(todo):
            answers[todo[len(answers)][0]] = Answer(error=fate)
    yield from ((case, answers.get(number)) for number, case in enumerate(all_cases()))


def _parse(line: str) -> Answer:
    found = json.loads(line)
    return Answer(rows=tuple(tuple(row) for row in found.get("rows", ())), error=found.get("error", ""))


def _run(rival: str, folder: Path, first: int) -> tuple[list[str], str]:
    """Return the answers of one process as lines, and how it ended."""
    command = [sys.executable, "-m", "benchmarks.exactness.worker", rival, str(folder), str(first)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # noqa: S603
    lines: list[str] = []
    fate = "crash"
    while True:
        watch = threading.Timer(_LIMIT_S, process.kill)
        watch.start()
        line = process.stdout.readline() if process.stdout else ""
        if not line:
            fate = "crash" if watch.is_alive() else f"no answer within {_LIMIT_S} s"
            watch.cancel()
            break
        watch.cancel()
        lines.append(line)
    process.kill()
    process.wait()
    return lines, fate
