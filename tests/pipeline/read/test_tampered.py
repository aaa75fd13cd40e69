"""Somebody else writes to the work area: what decides what is done is bound, and nothing else is taken for it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_blockread.cli.spark import InProcessSpark
from airflow_provider_blockread.errors import ExchangeError, ProofError, WrongLedgerError
from airflow_provider_blockread.exchange.files import content_hash
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.seals import sealed
from airflow_provider_blockread.ledger.windows.generations import list_groups
from airflow_provider_blockread.options import Csv, CustomFormat
from airflow_provider_blockread.spark.driver import Driver
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange, rebuild
from tests.pipeline.make import Pipe, ReadHere

_QUOTED = CustomFormat(path="quoted_lines:QuotedLines")
_SPANNING = {"a.txt": b'"one\nrecord"\n' * 9}


def _file(uri: str) -> Path:
    return Path(uri.removeprefix("file://"))


class _Tampers(ReadHere):
    """Changes a file beside the specification before the first application starts, or when it has ended."""

    def __init__(
        self, name: str, change: Callable[[bytes, Submission], bytes], *, after: bool = False, private: bool = True
    ) -> None:
        super().__init__()
        self._name, self._change, self._after, self._private = name, change, after, private

    @property
    def keeps_secrets(self) -> bool:
        """Whether it has a private way to its driver, which cluster deploy mode has not."""
        return self._private

    def submit(self, submission: Submission, *, name: str) -> None:
        """Run the application, with the change before or behind it."""
        self.attempts += 1
        if self._after:
            super().submit(submission, name=name)
        if self.attempts == 1:
            path = _file(submission.folder) / self._name
            path.write_bytes(self._change(path.read_bytes(), submission))
        if not self._after:
            super().submit(submission, name=name)

    def kill(self, application: str | None) -> None:
        """Do nothing: the application has ended."""


def _other_format(data: bytes, _: Submission) -> bytes:
    """Name a module of the writer's own in the specification."""
    spec = json.loads(data)
    spec["options"]["record_format"] = CustomFormat(path="planted_module:Planted").to_json()
    return json.dumps(spec).encode()


@pytest.mark.parametrize(
    "change",
    [_other_format, lambda data, _: data + b" ", lambda *_: b"", lambda *_: b"\xff["],
    ids=["another format", "one byte more", "nothing", "no JSON"],
)
def test_another_specification_is_not_read(
    here: Pipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[..., bytes]
) -> None:
    """Neither parsed nor imported: what it names stays unused. Cleared, the task writes it again."""
    (tmp_path / "planted_module.py").write_text("raise SystemExit('planted code ran')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    here.put({"a.txt": b"a1\n"})
    here.submitter = _Tampers("job.json", change)
    ref = here.plan()
    with pytest.raises(
        ExchangeError, match=r"job specification .*job\.json is corrupt or was replaced.*clear the task"
    ):
        here.read(ref)
    assert "planted_module" not in sys.modules
    here.read(ref, clear_number=1)
    here.commit(ref)

    assert here.values() == ["a1"]


@pytest.mark.spark
def test_a_driver_does_not_import_what_another_specification_names(
    spark: InProcessSpark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same with Spark's context, which is not even used."""
    (tmp_path / "planted_too.py").write_text("raise SystemExit('planted code ran')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = tmp_path / "job.json"
    spec.write_text(json.dumps({"options": {"record_format": CustomFormat(path="planted_too:Planted").to_json()}}))
    submission = Submission(spec_uri=f"file://{spec}", spec_hash=content_hash(b"what was submitted"))
    with pytest.raises(ExchangeError, match="is corrupt or was replaced"):
        Driver(submission=submission, engine=spark._started()).run()

    assert "planted_too" not in sys.modules


def _forged(data: bytes, submission: Submission, **fields: Any) -> bytes:
    """Return a result with other fields, under the seal that a reader of the work area can make."""
    return sealed("result", json.loads(data)["result"] | fields, secret="", bound=submission.spec_hash)


def _by_another_attempt(data: bytes, submission: Submission) -> bytes:
    return sealed("result", json.loads(data)["result"], secret=submission.secret, bound=content_hash(b"its job.json"))


def _of_another_window(data: bytes, submission: Submission) -> bytes:
    return _forged(data, submission, outputs=[{"uri": "file:///out/blockread-other.parquet", "size": 9, "rows": 2}])


def _out_of_the_folder(data: bytes, submission: Submission) -> bytes:
    [output] = json.loads(data)["result"]["outputs"]
    return _forged(data, submission, outputs=[output | {"uri": output["uri"].replace("/data/", "/data/../data/")}])


def _quarantined(data: bytes, submission: Submission) -> bytes:
    fields = json.loads(data)["result"]
    return _forged(data, submission, outputs=[], quarantined=fields["outputs"])


@pytest.mark.parametrize(
    ("change", "private", "message"),
    [
        (_forged, True, "was not written by the application of this attempt"),
        (_by_another_attempt, True, "was not written by the application of this attempt"),
        (_by_another_attempt, False, "was not written by the application of this attempt"),
        (_of_another_window, False, "blockread-other.*is not a file of this attempt"),
        (_out_of_the_folder, False, r"data/\.\./data.*is not a file of this attempt"),
        (_quarantined, False, "is not a file of this attempt"),
    ],
)
def test_a_result_of_somebody_else_is_not_accepted(
    here: Pipe, change: Callable[..., bytes], message: str, *, private: bool
) -> None:
    """Where there is a secret it must seal the result; without, it must be of this attempt and name its files only."""
    here.put({"a.txt": b"a1\n"})
    here.submitter = _Tampers("result.json", change, after=True, private=private)
    ref = here.plan()
    with pytest.raises(ExchangeError, match=rf"result file .*{message}.*; clear the group's task"):
        here.read(ref)
    assert [group.state for group in list_groups(here.env.ledger, ref.window, 1)] == ["failed"]
    here.read(ref, clear_number=1)
    here.commit(ref)

    assert here.values() == ["a1"]


class _Elsewhere(ReadHere):
    """Its driver has no private way, as in cluster deploy mode."""

    @property
    def keeps_secrets(self) -> bool:
        """Whether it has one."""
        return False


def test_a_newer_plan_of_somebody_else_is_not_read(here: Pipe) -> None:
    """A reprocess writes a manifest of its own, which is bound as the first one is; what is published stays."""
    here.put({"a.txt": b"a1\n", "b.txt": b"b1\n"})
    here.run()
    here.put({"b.txt": b"b2\nb3\n"})

    class Replans(ReadHere):
        """Puts the first plan in the place of the newer one."""

        def submit(self, submission: Submission, *, name: str) -> None:
            plans = sorted(here.work.rglob("manifest-*.parquet"), key=lambda path: path.stat().st_mtime_ns)
            assert len(plans) == 2
            plans[1].write_bytes(plans[0].read_bytes())
            super().submit(submission, name=name)

    asked = RebuildRequest(range=WindowRange(window="w", feed="feed"), files=FileChoice(path="b.*"))
    runner = WindowRunner(env=here.env, owner=here.owner, job=here.job, submitter=Replans())
    with pytest.raises(ExchangeError, match=r"manifest .* is corrupt or was replaced"):
        rebuild(here.env, asked, runner)

    assert here.values() == ["a1", "b1"]


def _forge_states(pipe: Pipe) -> None:
    """Let every block begin inside quotes, under the seal that a reader of the work area can make."""
    for path in pipe.work.rglob("states-*.json"):
        states = dict.fromkeys(json.loads(path.read_bytes())["states"], 1)
        path.write_bytes(sealed("states", states, secret="", bound=path.name))


@pytest.mark.slow
@pytest.mark.parametrize("group_bytes", [2**30, 24], ids=["one group", "groups that a file spans"])
def test_states_of_somebody_else_are_found_again(here: Pipe, group_bytes: int) -> None:
    """The window's secret seals them: others are as good as none."""
    here.put(_SPANNING)
    here.record_format, here.block_size, here.group_bytes = _QUOTED, 6, group_bytes
    here.run()
    _forge_states(here)
    done = here.run(clear_number=1)

    assert (done.generation, here.values()) == (2, ['"one\nrecord"'] * 9)


@pytest.mark.slow
@pytest.mark.parametrize("group_bytes", [2**30, 24], ids=["one group", "groups that a file spans"])
def test_without_a_secret_the_proof_refuses_such_states(here: Pipe, group_bytes: int) -> None:
    """It finds the states from the records that were read; what is published stays, and the next read scans again."""
    here.submitter = _Elsewhere()
    here.put(_SPANNING)
    here.record_format, here.block_size, here.group_bytes = _QUOTED, 6, group_bytes
    here.run()
    before = here.published()
    _forge_states(here)
    with pytest.raises(ProofError, match="entered in state"):
        here.run(clear_number=1)
    assert here.published() == before
    here.run(clear_number=2)

    assert here.values() == ['"one\nrecord"'] * 9


@pytest.mark.slow
def test_columns_of_somebody_else_are_inferred_again(here: Pipe) -> None:
    """The window's secret seals the schema file: names and types in another one are not taken, and the log says so."""
    here.put({"a.csv": b"id,msg\n1,x\n"})
    here.record_format = Csv(header=True)
    here.run()
    [path] = here.work.rglob("schema-*.json")
    for fields in ({"schema": "msg string", "files": []}, {"schema": 1}, {}):
        path.write_bytes(sealed("columns", fields, secret="", bound=path.name))
        here.run(clear_number=(number := 1 + len(here.attempt_files("job.json"))))

        assert here.rows() == [{"id": 1, "msg": "x"}], number
        [warning] = here.warnings
        assert f"{path} is damaged or was replaced" in warning
        here.warnings.clear()


@pytest.mark.slow
def test_columns_of_another_window_are_not_taken(here: Pipe) -> None:
    """The seal is bound to the window and the file's name, so that no file stands for another."""
    here.record_format = Csv(header=True)
    for name, data in {"a.csv": b"id,msg\n1,x\n", "b.csv": b"id,msg\nI,x\n"}.items():
        here.put({name: data})
        here.run(name)
    first, second = sorted(here.work.rglob("schema-*.json"), key=lambda path: path.stat().st_mtime_ns)
    first.write_bytes(second.read_bytes())
    here.run("a.csv", clear_number=1)

    assert sorted(map(str, (row["id"] for row in here.rows()))) == ["1", "I"]
    assert any("schema file" in message for message in here.warnings)


def test_another_name_for_the_ledger_refuses_or_is_taken_back(here: Pipe) -> None:
    """The file that names the ledger guards against accidents only: a foreign one is shown, bounded and escaped."""
    here.put({"a.txt": b"a1\n"})
    here.run()
    [owner] = here.work.rglob("ledger")
    owner.write_bytes(b"\x1b[31m\n" + b"x" * 10_000)
    here.put({"b.txt": b"b1\n"})
    with pytest.raises(WrongLedgerError, match=r"that ledger '\\x1b\[31m\\nx{94}' published"):
        here.run("next")
    owner.unlink()
    here.run("next")

    assert here.values() == ["a1", "b1"]
