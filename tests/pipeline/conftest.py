"""Spark on two cores of this process, shared by all tests; a ledger, a source and an output of its own for each."""

from __future__ import annotations

import atexit
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_HERE = Path(__file__).parent
for _folder in (_HERE, _HERE.parent / "records"):  # as a user's own modules are, where a job runs
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(_HERE), str(_HERE.parent / "records"), *filter(None, [os.environ.get("PYTHONPATH")])]
)
_SEED = os.environ.get("SEED", "1")
_MARKS = tempfile.TemporaryDirectory(prefix="blockread-marks-")  # what user functions remember
atexit.register(_MARKS.cleanup)
os.environ["BLOCKREAD_TEST_MARKS"] = _MARKS.name


from airflow_provider_blockread.cli.spark import InProcessSpark  # noqa: E402
from airflow_provider_blockread.options import SINKS  # noqa: E402
from tests.pipeline.make import Pipe, ReadHere  # noqa: E402
from tests.sinks.kinds import KINDS  # noqa: E402
from tests.spark.prepared import PREPARED  # noqa: E402


@pytest.fixture(scope="session")
def spark() -> Iterator[InProcessSpark]:
    """Spark in this process, on two cores."""
    with InProcessSpark("local[2,4]", PREPARED | {"spark.ui.showConsoleProgress": "false"}) as submitter:
        yield submitter


@pytest.fixture
def pipe(tmp_path: Path, spark: InProcessSpark) -> Iterator[Pipe]:
    """A source, an output and a ledger of this test's own."""
    made = Pipe(folder=tmp_path, submitter=spark)
    yield made
    made.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what publishes, replaces and takes away into files and into another sink, which SEED and the test decide.

    Into every sink if the environment says ALL_CASES, but for tests of what not all can hold or do. Into files only by
    `make unit`, which leaves out what is slow.
    """
    folder = metafunc.definition.path.parent.name
    if "sink" in metafunc.fixturenames and folder in {"commit", "upkeep"}:
        of_columns = metafunc.definition.get_closest_marker("columns")
        kinds = [name for name in SINKS if not KINDS[name].like]
        first, *others = [name for name in kinds if KINDS[name].holds_columns or not of_columns]
        if metafunc.definition.get_closest_marker("files"):
            others = [name for name in others if KINDS[name].table is None]
        if metafunc.definition.get_closest_marker("carried"):
            others = [name for name in others if KINDS[name].in_folder]
        if others and not os.environ.get("ALL_CASES"):
            others = [random.Random(f"{_SEED} {metafunc.definition.nodeid}").choice(others)]
        metafunc.parametrize("sink", [first, *(pytest.param(name, marks=pytest.mark.slow) for name in others)])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what starts Spark, and leave out tests of single files where a sink is a table."""
    for item in items:
        if isinstance(item, pytest.Function) and "spark" in item.fixturenames:
            item.add_marker("spark")
    left_out = [item for item in items if item.get_closest_marker("files") and _is_into_table(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _is_into_table(item: pytest.Item) -> bool:
    call = getattr(item, "callspec", None)
    return call is not None and KINDS[call.params.get("sink", "parquet")].table is not None


@pytest.fixture
def sink() -> str:
    """The sink of a test that runs into one."""
    return "parquet"


@pytest.fixture
def here(tmp_path: Path, sink: str) -> Iterator[Pipe]:
    """The same, with jobs that run in this process without Spark."""
    made = Pipe(folder=tmp_path, submitter=ReadHere(), kind=sink)
    yield made
    made.close()
