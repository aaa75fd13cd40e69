"""Entry states: found once by a scan, kept with the window by format, and used again by the next read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from oracles import quoted_lines

from airflow_provider_blockread.errors import ExchangeError, SparkJobError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.ledger.overview.windows import window_row
from airflow_provider_blockread.ledger.windows.generations import FINISHED, start_generation
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.ledger.windows.scans import fail_scan
from airflow_provider_blockread.options import CustomFormat
from airflow_provider_blockread.steps.plan.replaying import open_ref
from tests.pipeline.make import Pipe, ReadHere

_FILES = {
    "a.txt": b'plain\n"one\nrecord\n" and more\n"x""y\n"\nlast',
    "b.txt": b"\n".join(b'"%d\n%d"' % (i, i) for i in range(8)) + b"\n",
    "c.txt": b"one\n",
}
_EXPECTED = sorted(record.decode() for data in _FILES.values() for _, record in quoted_lines(data, 0))
_QUOTED = "quoted_lines:QuotedLines"


@pytest.fixture
def quoted(here: Pipe) -> Pipe:
    """Files of many blocks, of a format that needs a scan."""
    here.put(_FILES)
    here.record_format, here.block_size = CustomFormat(path=_QUOTED), 6
    return here


def _scanned(pipe: Pipe) -> list[int]:
    assert isinstance(pipe.submitter, ReadHere)
    return pipe.submitter.scanned


def _states(pipe: Pipe) -> list[Path]:
    return sorted(pipe.work.rglob("states-*.json"))


@pytest.mark.slow
def test_a_rebuild_and_a_verification_do_not_scan_again(quoted: Pipe) -> None:
    """The next read of the window under the same format uses the states that are there."""
    quoted.run()
    first = list(_scanned(quoted))
    done = quoted.run(clear_number=1)
    window = get_window(quoted.env.ledger, "w", quoted.feed)
    options = quoted.request("w").generation.to_json()
    generation = start_generation(quoted.env.ledger, window.id, options=options, mode="verify", clear_number=1)
    ref = open_ref(quoted.env, window, generation, status="read", message="verifying")
    quoted.read(ref, clear_number=1)
    verified = quoted.commit(ref)

    assert (done.generation, quoted.values()) == (2, _EXPECTED)
    assert verified.status in FINISHED
    assert _scanned(quoted) == first
    assert len(_states(quoted)) == 1


def test_only_what_must_be_scanned_is(quoted: Pipe) -> None:
    """Neither the only block of a file nor the last one is scanned: nothing reads on from where they end."""
    ref = quoted.plan()
    quoted.read(ref)
    numbers = sorted(int(number) for number in json.loads(_states(quoted)[0].read_bytes())["states"])

    a, b = (-(-len(_FILES[name]) // 6) for name in ("a.txt", "b.txt"))
    assert _scanned(quoted) == [*range(a - 1), *range(a, a + b - 1)]
    assert numbers == list(range(a + b))


def test_another_format_scans_again(quoted: Pipe) -> None:
    """States belong to a format: a corrected one does not take those of the one before."""
    quoted.run()
    first = len(_scanned(quoted))
    quoted.record_format = CustomFormat(path=_QUOTED, encoding="binary")
    done = quoted.run(clear_number=1)

    assert (done.generation, len(_scanned(quoted)), len(_states(quoted))) == (2, 2 * first, 2)


@pytest.mark.slow
@pytest.mark.parametrize("harm", [b"", b"[]", b"{}", b'{"seal": "x", "states": {"0": 0, "1": 1}}'])
def test_damaged_states_are_found_again(quoted: Pipe, harm: bytes) -> None:
    """A state file that is not what was written is written again, by the group or by the scan step."""
    for feed, group_bytes in (("one group", 2**30), ("many groups", 20)):
        quoted.feed, quoted.group_bytes, quoted.out_name = feed, group_bytes, feed
        quoted.run()
        kept = {path: path.read_bytes() for path in _states(quoted)}
        for path in kept:
            path.write_bytes(harm)
        done = quoted.run(clear_number=1)

        assert (done.generation, quoted.values()) == (2, _EXPECTED)
        assert {path: path.read_bytes() for path in _states(quoted)} == kept


@pytest.mark.slow
def test_lost_states_of_files_that_span_groups(quoted: Pipe) -> None:
    """A group that finds no states of a file that spans groups says which task to clear."""
    quoted.group_bytes = 20
    ref = quoted.plan()
    assert ref.needs_scan
    quoted.read(ref, groups=[])
    for path in _states(quoted):
        path.unlink()
    submitter, quoted.submitter = quoted.submitter, ReadHere()

    class NoScan(ReadHere):
        """Somebody removes the states between scan and read."""

        def submit(self, submission: Submission, *, name: str) -> None:
            if "-scan-" in name:
                return
            super().submit(submission, name=name)

    quoted.submitter = NoScan()
    with pytest.raises(ExchangeError, match=r"state file .*is missing or damaged; clear the run's scan task"):
        quoted.read(ref, groups=[0])
    quoted.submitter = submitter
    quoted.read(ref)

    assert quoted.commit(ref).records == len(_EXPECTED)


@pytest.mark.slow
def test_a_failed_scan_says_why_until_the_next_try(quoted: Pipe) -> None:
    """People see the window as failed, with the reason; a try that another one has overtaken says nothing."""

    class BrokenScan(ReadHere):
        def submit(self, submission: Submission, *, name: str) -> None:  # noqa: ARG002
            seen.append(_look(quoted))
            msg = f"{name} was killed; see its log, then retry"
            raise SparkJobError(msg)

    seen: list[tuple[str, str | None]] = []
    quoted.group_bytes = 20
    submitter, quoted.submitter = quoted.submitter, BrokenScan()
    ref = quoted.plan()
    for _ in range(2):
        with pytest.raises(SparkJobError, match="was killed"):
            quoted.read(ref)
    failed = _look(quoted)
    fail_scan(quoted.env.ledger, ref.window, 1, "too late")
    assert _look(quoted) == failed
    quoted.submitter = submitter
    quoted.read(ref)
    read = _look(quoted)
    fail_scan(quoted.env.ledger, ref.window, 3, "too late")

    assert seen == [("waiting", None)] * 2
    assert failed[0] == "failed"
    assert "SparkJobError: " in str(failed[1])
    assert read == _look(quoted) == ("waiting", None)
    assert quoted.commit(ref).records == len(_EXPECTED)


def _look(pipe: Pipe) -> tuple[str, str | None]:
    window = get_window(pipe.env.ledger, "w", pipe.feed).id
    row = window_row(pipe.env.ledger, window)
    assert row is not None
    return row.state, row.error


def test_groups_at_whose_borders_files_end_need_no_scan_step(quoted: Pipe) -> None:
    """The scan step is for files that span groups; several groups alone do not ask for it."""
    quoted.group_bytes = max(map(len, _FILES.values()))
    ref = quoted.plan()

    assert (ref.groups > 1, ref.needs_scan) == (True, False)
    quoted.read(ref)
    quoted.commit(ref)
    assert quoted.values() == _EXPECTED
