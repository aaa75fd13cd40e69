"""`python -m tests.fuzz --seconds N [--seed S] [--number I]`: try random files; save to the corpus what fails."""

from __future__ import annotations

import argparse
import dataclasses
import secrets
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "records"))  # the formats of tests, importable as a user's own are

from tests.fuzz.checking import minimal  # noqa: E402
from tests.fuzz.model import save  # noqa: E402
from tests.fuzz.running import fuzz  # noqa: E402


def main() -> int:
    """Return 1 where something failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to try")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="makes the same trials again")
    parser.add_argument("--number", type=int, help="only the trial of this number")
    options = parser.parse_args()
    print(f"seed {options.seed}, {options.seconds:g} s", flush=True)
    tried, found = fuzz(options.seed, options.seconds, only=options.number)
    if found is None:
        print(f"{tried} trials hold")
        return 0
    print(f"trial {found.number} of seed {options.seed} fails: {found.trial}\n{found.problem}", flush=True)
    smallest = dataclasses.replace(minimal(found.trial), why=f"found by the fuzzer: {found.problem.splitlines()[0]}")
    print(f"saved to {save(smallest)}: {smallest.to_json()}")
    print(f"again: python -m tests.fuzz --seed {options.seed} --number {found.number}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
