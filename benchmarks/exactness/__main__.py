"""`python -m benchmarks.exactness [FILE]`: run all readers, and write the page (default: docs/exactness.md)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from airflow_provider_blockread.cli.spark import InProcessSpark
from benchmarks.exactness.answers import Answer, ask, write_files
from benchmarks.exactness.calls import RIVALS
from benchmarks.exactness.cases import all_cases
from benchmarks.exactness.ours import Ours, answer_ours
from benchmarks.exactness.table import PAGE, document, our_cell


def main(page: str = str(PAGE)) -> int:
    """Write the page and return the exit code: 1 if an answer of blockread is not exact."""
    with tempfile.TemporaryDirectory(prefix="blockread-exactness-") as name:
        folder = Path(name)
        write_files(folder)
        answers: dict[str, list[Answer | None]] = {}
        for rival, title in RIVALS.items():
            print(f"asking {title}", file=sys.stderr, flush=True)
            answers[rival] = [answer for _, answer in ask(rival, folder)]
        print("asking blockread", file=sys.stderr, flush=True)
        ours = _ours(folder)
    Path(page).write_text(document(answers, ours), "utf-8")
    wrong = [
        f"{case.title}: {our_cell(case, found)}"
        for case, found in zip(all_cases(), ours, strict=True)
        if not our_cell(case, found).startswith(("exact", "refused"))
    ]
    print("\n".join(wrong) or f"{page}: blockread is exact in all {len(ours)} cases")
    return 1 if wrong else 0


def _ours(folder: Path) -> list[Ours]:
    found = []
    with InProcessSpark("local[2]") as spark:
        for number, case in enumerate(all_cases()):
            work = folder / f"{number}.blockread"
            work.mkdir()
            found.append(answer_ours(case, folder / str(number), work, spark))
    return found


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
