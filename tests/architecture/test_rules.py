"""The house rules hold, and each of them fires on a bad sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.architecture import rules
from tests.architecture.tree import ROOT, code_files, package_files, text_files

Rule = Callable[[str], list[str]]

PACKAGE_RULES: list[Rule] = [
    rules.long_functions,
    rules.loose_keywords,
    rules.undocumented,
    rules.stubs,
    rules.mocks,
    rules.threaded_reads,
]

# Written apart, so that this file keeps the rule that it tests.
SLASH = "/"

BAD: dict[Rule, list[str]] = {
    rules.long_file: ["x = 1\n" * 301],
    rules.long_functions: ["def f():\n" + "    x = 1\n" * 60, "class C:\n  async def f(self):\n" + "    x = 1\n" * 60],
    rules.parameter_walls: [
        "def f(a, b, c, d, *, e, f, g): ...",
        "class C:\n  def f(self, a, b, c, /, d, e, f, g): ...",
    ],
    rules.loose_keywords: [
        "def f(**options): ...",
        "def f(**options):\n  return Value(**options)",
        "@click.command()\ndef f(**options):\n  return Value(**options), options['a']",
        "class C:\n  def f(self, **kwargs):\n    super().g(**kwargs)",
        "class C:\n  def __init__(self, **kwargs):\n    self.more = kwargs\n    super().__init__(**kwargs)",
    ],
    rules.undocumented: [
        "x = 1",
        '"""M."""\ndef f(): ...',
        '"""M."""\nclass C: ...',
        '"""M."""\nclass C:\n  """C."""\n  def f(self): ...',
    ],
    rules.stubs: ["# TO" + "DO: later", "raise NotImplemented" + "Error"],
    rules.mocks: ["import unittest.mock", "from unittest import mock", "def f():\n  from unittest.mock import patch"],
    rules.borrowed: ["from tests.ledger.conftest import Clock", "from tests.pipeline.read.test_csv import row"],
    rules.clocks: [
        "x = datetime.now(UTC)",
        "x = datetime.datetime.utcnow()",
        "x = time.time()",
        "from time import time",
        "x = utc_now()",
    ],
    rules.threaded_reads: [
        "opened.iter_batches(1000)",
        "pq.read_table(file, use_threads=True)",
        "with pq.ParquetFile(pa.PythonFile(file)) as opened:\n  opened.read()",
    ],
    rules.machine_paths: [f'x = "{SLASH}root/x"', f"see file://{SLASH}home/ann/x", f"cd {SLASH}Users/ann/x"],
}

GOOD: dict[Rule, list[str]] = {
    rules.long_file: ["x = 1\n" * 300],
    rules.long_functions: ["def f():\n" + "    x = 1\n" * 59],
    rules.parameter_walls: ["class C:\n  def f(self, a, b, c, d, e, f): ..."],
    rules.loose_keywords: [
        "class C:\n  def f(self, *, a, **kwargs):\n    super().f(**kwargs)",
        "@click.command()\ndef f(**options):\n  return Value(**options)",
    ],
    rules.undocumented: ['"""M."""\ndef _f(): ...\nclass C:\n  """C."""\n  def __init__(self): ...'],
    rules.stubs: ["# nothing to do"],
    rules.mocks: ["import unittester"],
    rules.borrowed: ["from tests.ledger.clock import Clock", "import tests.testing"],
    rules.clocks: ["x = time.monotonic()", "x = ledger.now()", "def f(now=utc_now): ...", "datetime.fromtimestamp(1)"],
    rules.threaded_reads: ["opened.iter_batches(1000, use_threads=False)", "with open(path) as file:\n  file.read()"],
    rules.machine_paths: [
        "s3://lake/root/x",
        "out.blockread/root/x",
        "{folder}/root/x",
        "https://example.org/home/ann/x",
    ],
}


def broken(rule: Rule, files: Iterable[Path]) -> list[str]:
    """Return a line for each breach of the rule in the files."""
    return [
        f"{file.relative_to(ROOT)}: {breach}" for file in files for breach in rule(file.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("rule", PACKAGE_RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rules(rule: Rule) -> None:
    """Functions are short and finished, keywords are checked, everything public is described."""
    assert broken(rule, package_files()) == []


@pytest.mark.parametrize(
    "rule", [rules.long_file, rules.parameter_walls, rules.borrowed], ids=lambda rule: rule.__name__
)
def test_all_code_keeps_the_limits(rule: Rule) -> None:
    """Tests, tools and examples keep the limits on files and parameters too, and borrow from no test."""
    assert broken(rule, code_files()) == []


def test_a_folder_is_seen_at_a_glance() -> None:
    """Beyond about fifteen Python files, a folder is grouped by what one looks for."""
    counts = Counter(file.parent for file in code_files() if file.name != "__init__.py")

    assert [f"{f.relative_to(ROOT)}: {n}" for f, n in counts.items() if n > rules.MAX_FOLDER_FILES] == []


def test_the_present_has_one_place() -> None:
    """All but the ledger's default clock ask a clock that they were given, so that tests can set it."""
    found = broken(rules.clocks, package_files())

    assert found == ["airflow_provider_blockread/ledger/store.py: line " + found[0].rpartition("line ")[2]]
    assert found[0].endswith("return datetime.now(UTC)")


def test_no_text_names_a_folder_of_this_machine() -> None:
    """A fresh clone anywhere is the same program: no file names the folder it was written in, or anyone's home."""
    here = [f"{f.relative_to(ROOT)}: {ROOT}" for f in text_files() if str(ROOT) in f.read_text(encoding="utf-8")]

    assert here + broken(rules.machine_paths, text_files()) == []


@pytest.mark.parametrize(
    ("rule", "sample"),
    [pytest.param(r, s, id=f"{r.__name__}-{n}") for r, samples in BAD.items() for n, s in enumerate(samples)],
)
def test_each_rule_fires(rule: Rule, sample: str) -> None:
    """A sample that breaks the rule is seen."""
    assert rule(sample) != []


@pytest.mark.parametrize(
    ("rule", "sample"),
    [pytest.param(r, s, id=f"{r.__name__}-{n}") for r, samples in GOOD.items() for n, s in enumerate(samples)],
)
def test_no_rule_fires_on_what_is_allowed(rule: Rule, sample: str) -> None:
    """A sample just inside the rule is let through."""
    assert rule(sample) == []
