"""A heap that the collector of garbage passes by, and as it was before."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from airflow_provider_blockread.heap import settled_heap

_ENDING = """
from airflow_provider_blockread.heap import end_without_collecting

class Ring:
    def __init__(self, name):
        self.name, self.me = name, self
    def __del__(self):
        print(self.name)

end_without_collecting()
gone, left = Ring("collected"), Ring("left")
del gone
import gc
gc.collect()
del left
"""

_FROZEN = """
import gc, os, sys
from airflow_provider_blockread.heap import settled_heap

with settled_heap():
    pass
gc.freeze()
before = gc.get_freeze_count()
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
with settled_heap(), settled_heap():
    pass
print(before, gc.get_freeze_count())
"""


def _fail() -> None:
    with settled_heap():
        assert gc.get_freeze_count() > 10_000
        assert gc.get_threshold()[0] == 5_000
        raise KeyError


def test_what_is_there_is_passed_by_and_given_back() -> None:
    """Inside, the collector looks at what came since, and rarely; afterwards, whatever was raised, as it did before.

    Python 3.12 freezes some hundred objects itself.
    """
    before = gc.get_threshold()
    assert gc.get_freeze_count() < 1_000

    with pytest.raises(KeyError):
        _fail()

    assert (gc.get_freeze_count(), gc.get_threshold()) == (0, before)


def test_a_heap_that_was_frozen_before_stays_so() -> None:
    """A heap that a server froze before it forked this process stays frozen."""
    ended = subprocess.run([sys.executable, "-c", _FROZEN], capture_output=True, text=True, check=True)

    before, after = map(int, ended.stdout.split())
    assert 0.9 * before < after <= before


def test_a_process_ends_without_looking_for_garbage() -> None:
    """What only a last collection would find is left to the system; until then garbage is collected as ever."""
    ended = subprocess.run([sys.executable, "-c", _ENDING], capture_output=True, text=True, check=True)

    assert ended.stdout == "collected\n"
