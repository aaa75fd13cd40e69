"""Options that mean nothing: what each message asks for is given, and the command works."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_blockread import cli
from airflow_provider_blockread.cli import commands, main
from airflow_provider_blockread.errors import ExchangeError, OptionsError, SourceError
from airflow_provider_blockread.exchange.files import MANIFEST, remedy
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, prune
from airflow_provider_blockread.storage.stores import Stores
from tests.cli.place import Place
from tests.pipeline.make import Pipe
from tests.remedies.desk import Desk


@pytest.fixture
def logs(here: Pipe) -> Pipe:
    """A file of lines."""
    here.put({"a.log": b"a\n"})
    return here


_INTERVAL = "2026-11-21T04:00Z/2026-11-21T05:00Z"


@pytest.mark.parametrize(
    ("wrong", "says", "right"),
    [
        (["--interval", "2026-11-21"], _INTERVAL, ["--interval", _INTERVAL]),
        (["--interval", "2026-11-21/2026-11-21"], "its end must be after its start", ["--interval", _INTERVAL]),
        (["--schema", "id long"], "--schema belongs to csv", ["--format", "csv", "--schema", "id long"]),
        (["--schema", "id long"], "json_lines", ["--format", "json_lines", "--schema", "id long"]),
        (["--schema", "id long"], "json_array", ["--format", "json_array", "--schema", "id long"]),
        (["--format-option", "newline"], "must be KEY=VALUE", ["--format-option", "newline=lf"]),
    ],
)
def test_options_of_a_plan(logs: Pipe, desk: Desk, wrong: list[str], says: str, right: list[str]) -> None:
    """As the message writes them, or with what it says they belong to."""
    assert says in desk.refused("plan", str(logs.source), *wrong)

    desk.done("plan", str(logs.source), *right)


def test_functions_of_a_run(logs: Pipe, desk: Desk) -> None:
    """One of the two is taken."""
    run = ("run", str(logs.source), "--output", str(logs.out), "--function", "copy:copy")
    message = "--function and --sql exclude each other: give one of them"
    assert message in desk.refused(*run, "--sql", "SELECT value FROM records")

    assert "proven" in desk.done(*run)


def test_a_file_that_is_not_there(logs: Pipe, desk: Desk) -> None:
    """Under its right path its records are shown."""
    assert "does not exist; correct the path" in desk.refused("records", str(logs.source / "b.log"))

    assert '"record": "a"' in desk.done("records", str(logs.source / "a.log"))


@pytest.mark.parametrize("command", [["windows", "rebuild"], ["reprocess"]])
@pytest.mark.parametrize("named", ["window", "feed"])
def test_windows_to_read_again(logs: Pipe, desk: Desk, command: list[str], named: str) -> None:
    """Either of the two that the message asks for."""
    logs.run()
    assert "name a window, or a feed with --feed" in desk.refused(*command)
    window = ["--window", "w"] if command == ["reprocess"] else ["w"]
    desk.done(*command, *(window if named == "window" else ["--feed", "feed"]))

    assert logs.plan().generation == 2


@pytest.mark.parametrize(
    "bound", [("--since", "2020-01-01"), ("--until", "2099-01-01"), ("--from", "a"), ("--to", "z")], ids=" ".join
)
def test_a_window_and_a_range(logs: Pipe, desk: Desk, bound: tuple[str, str]) -> None:
    """Each is given without the other, as the message says, and the window is read again."""
    logs.run()
    message = "--since, --until, --from and --to go with a feed alone"
    assert message in desk.refused("windows", "rebuild", "w", *bound)
    assert message in desk.refused("reprocess", "--window", "w", "--feed", "feed", *bound)
    desk.done("windows", "rebuild", "w")
    desk.done("windows", "rebuild", "--feed", "feed", *bound)

    assert logs.plan().generation == 3


def test_a_rebuild_that_fails_goes_on(logs: Pipe, desk: Desk) -> None:
    """Its cause fixed, the same command continues from the window where it failed."""
    logs.run("1")
    logs.put({"b.log": b"b\n"})
    logs.run("2")
    (logs.source / "b.log").rename(logs.folder / "b.log")
    message = desk.refused("windows", "rebuild", "--feed", "feed")
    assert "Fix the cause and repeat the command: it continues from this window" in message
    (logs.folder / "b.log").rename(logs.source / "b.log")
    printed = desk.done("windows", "rebuild", "--feed", "feed")

    assert "done already, as generation 2" in printed
    assert logs.plan("2").generation >= 2


def test_java_that_is_missing(logs: Pipe, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAVA_HOME set, as the message says, the run continues."""
    command = ("run", str(logs.source), "--output", str(logs.out))
    with monkeypatch.context() as bare:
        bare.delenv("JAVA_HOME")
        bare.setenv("PATH", "")
        assert "install a JRE, or set JAVA_HOME" in desk.refused(*command)
        bare.setenv("JAVA_HOME", "/usr")

        desk.done(*command)


@pytest.mark.spark
def test_spark_that_does_not_start(tmp_path: Path) -> None:
    """Under a master that there is, and with Java, it does."""
    place = Place(tmp_path)
    place.put({"a.log": b"a\n"})
    command = ("run", str(place.source), "--output", str(tmp_path / "out"), "--master")
    failed, done = place.shell(*command, "local[no]"), place.shell(*command, "local[1]")

    assert "check --master and that Java 17+ is there" in failed.stderr
    assert done.returncode == 0


def test_a_status_of_files() -> None:
    """Each of the words that the message lists is taken."""
    with pytest.raises(OptionsError, match="status must be done, bad, quarantined, not 'gone'"):
        FileChoice(status="gone")

    assert [FileChoice(status=word).status for word in ("done", "bad", "quarantined")]


def test_bounds_of_pruning(logs: Pipe) -> None:
    """With 0, as the message says, it works."""
    logs.run()
    logs.pass_seconds(9)
    with pytest.raises(OptionsError, match="must be 0 or more"):
        PruneRequest(older_than=-1, keep=-1)

    assert prune(logs.env, PruneRequest(older_than=0, keep=0)).windows == 1


def test_a_work_area_that_cannot_be_cleared(logs: Pipe, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cause fixed, the same command clears it, as the message says."""
    logs.run()
    command = ("prune", "--older-than", "1h", "--keep", "0")

    def denied(_stores: Stores, uri: str) -> None:
        msg = f"{uri}: access denied"
        raise SourceError(msg)

    with monkeypatch.context() as failing:
        failing.setattr(Stores, "remove_folder", denied)
        message = desk.refused(*command)
    assert "some work areas are left" in message
    assert "fix the cause and repeat the command" in message
    desk.done(*command)

    assert list(logs.work.rglob("*.parquet")) == []


def test_what_is_cleared_in_airflow_is_repeated_here(
    logs: Pipe, desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command continues where it failed, once what the message asks for was done."""
    monkeypatch.setattr(cli, "exit_on_signals", lambda: None)  # those of this process stay the test runner's
    monkeypatch.setattr(commands, "raise_on_signals", lambda: None)
    command = ["run", str(logs.source), "--output", str(logs.out), "--state", desk.url]
    with pytest.raises(SystemExit):
        main([*command, "--function", "math:sqrt"])
    assert "correct the function and clear the run" in (shown := capsys.readouterr().err)
    assert "(on the command line, repeat the command instead)" in shown
    with pytest.raises(SystemExit) as ended:
        main(command)

    assert (ended.value.code, logs.values()) == (0, ["a"])


def test_a_message_that_names_the_command_line_is_shown_as_it_is() -> None:
    """Repeating the same command would not help."""
    lost = f"manifest x is missing; {remedy(MANIFEST)}"

    assert commands._message(ExchangeError(lost)) == lost
