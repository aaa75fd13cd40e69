"""What all tests share: Hypothesis profiles, an Airflow home that is nobody's own, and how processes share them out."""

from __future__ import annotations

import atexit
import gc
import os
import random
import re
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("unit", derandomize=True, deadline=None, max_examples=10, print_blob=True)
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50, print_blob=True)
settings.register_profile(
    "deep", deadline=None, max_examples=3000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci")

# Tests and modules come to stay while they are collected: to look through them for garbage took a quarter of that time.
_COLLECTS_AT = gc.get_threshold()
gc.set_threshold(100_000)

# A disk keeps every commit waiting, and no test cuts the power. What tests start keeps its own folder, on the disk.
_MEMORY = Path("/dev/shm")  # noqa: S108 - names of our own are made in it
_ROOM = 2**31  # bytes
if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM:
    tempfile.tempdir = str(_MEMORY)

# Airflow makes its home when it is first imported, wherever that happens; it must not be the user's.
_HOME = tempfile.TemporaryDirectory(prefix="blockread-airflow-")
atexit.register(_HOME.cleanup)
os.environ["AIRFLOW_HOME"] = _HOME.name
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
os.environ["AIRFLOW__CORE__DAGS_FOLDER"] = f"{_HOME.name}/dags"
os.environ["AIRFLOW__USAGE_DATA_COLLECTION__ENABLED"] = "False"
# Read when gcsfs is imported. Otherwise it asks a service of Google's about each bucket, of an emulator for a minute.
os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"

_SEED = os.environ.get("SEED", "1")

#: Files whose tests share servers, or Airflow or Spark in their own process, which takes long to start and to warm up.
_TOGETHER = (
    "tests/airflow",
    "tests/crash",
    "tests/spark/data_source",
    "tests/spark/engines",
    "tests/stores",
    "tests/system",
    "tests/pipeline/read/test_cluster",
    "tests/pipeline/(frames|functions|plan/test_new_files|read/test_(codecs|csv|deaths|forged|formats|functions|tampered))",
)


class ByFile(LoadScopeScheduling):
    """Gives all tests of a file to one process, and all of the files that share what is expensive."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((files for files in _TOGETHER if re.match(files, file)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    """Return who shares the tests out."""
    return ByFile(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is no part of a sample, and let what takes long begin early.

    That is Airflow's servers, which mostly wait, beside deaths, which mostly work.
    """
    if not os.environ.get("ALL_CASES") and (left_out := _beyond_samples(items)):
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=_turn)


def pytest_collection_finish() -> None:
    """Look for garbage as often as ever, now that there will be some."""
    gc.set_threshold(*_COLLECTS_AT)


def _beyond_samples(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the cases that SEED does not choose, of tests of which only a sample is run."""
    cases: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if sampled := item.get_closest_marker("sampled"):
            each = item.callspec.params[sampled.kwargs["each"]] if sampled.kwargs else ""  # type: ignore[attr-defined]
            cases[f"{item.nodeid.partition('[')[0]} {each}", *sampled.args].append(item)
    left_out = set(chain.from_iterable(cases.values()))
    for (name, number), found in cases.items():
        in_order = sorted(found, key=lambda item: item.nodeid)
        left_out.difference_update(random.Random(f"{_SEED} {name}").sample(in_order, min(number, len(found))))
    return left_out


def _turn(item: pytest.Item) -> int:
    first = (
        "tests/system",
        "tests/crash",
        "tests/stores",
        "tests/airflow",
        "tests/pipeline/frames",
        "tests/spark/engines",
        "tests/compose",
    )
    found = next((turn for turn, folder in enumerate(first) if item.nodeid.startswith(folder)), None)
    return found if found is not None else len(first) + (item.get_closest_marker("spark") is None)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server of our own."""
    from tests.postgres import postgres_server

    with postgres_server() as server:
        yield server
