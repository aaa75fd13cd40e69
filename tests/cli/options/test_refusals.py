"""What a command cannot do is said in one line before anything is planned, and its remedy works."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from airflow_provider_blockread.cli.commands import blockread
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.owners import user
from tests.cli.place import Place
from tests.remedies.desk import without_spark


@pytest.fixture
def output(place: Place, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the arguments of a run without Spark."""
    without_spark(monkeypatch)
    place.put({"a.log": b"1\n"})
    return ["run", str(place.source), "--name", "logs", "--output", str(place.folder / "out")]


def test_a_module_that_is_not_there(place: Place, output: list[str]) -> None:
    """With the right path the run goes on."""
    module = place.folder / "mine.py"
    refused = place.call(*output, "--py-file", str(module))
    module.touch()

    assert str(refused.exception) == f"--py-file {module} does not exist; correct its path"
    assert not (place.folder / "ledger.db").exists()
    assert place.call(*output, "--py-file", str(module)).exit_code == 0


def test_a_key_that_is_the_id_of_a_window(place: Place, output: list[str]) -> None:
    """The key that the message names is that of the window."""
    place.call(*output, "--window", "monday")
    [window] = place.json("windows", "list")
    refused = place.call(*output, "--window", window["window"])

    assert "is the id of the window 'monday', and this command takes keys; give that key" in str(refused.exception)
    assert place.call(*output, "--window", "monday").exit_code == 0
    assert len(place.json("windows", "list")) == 1


def test_a_time_as_it_is_printed_is_taken(place: Place, output: list[str]) -> None:
    """The time at which a window was made, with its zone."""
    place.call(*output)
    [window] = place.json("windows", "list")
    done = place.call("reprocess", "--feed", "logs", "--since", window["created_at"], "--dry-run")

    assert done.exit_code == 0, done.exception
    assert window["window"] in done.stdout


def test_a_user_without_name_or_home(place: Place, monkeypatch: pytest.MonkeyPatch, output: list[str]) -> None:
    """As in a container with any uid: the number stands for the name, and the ledger has to be named."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME", "HOME", "AIRFLOW_HOME", "BLOCKREAD_STATE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda _: {}["nobody"])
    refused = CliRunner().invoke(blockread, ["windows", "list"])

    assert str(refused.exception).endswith("this user has no home; set it, or give --state")
    assert user() == f"uid-{os.getuid()}"
    assert place.call(*output).exit_code == 0


def test_a_port_that_is_in_use(place: Place) -> None:
    """The message names the option that gives another one."""
    place.call("db", "upgrade")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = place.call("ui", "--port", str(port))

    assert str(refused.exception).startswith(f"port {port} cannot be used (")
    assert str(refused.exception).endswith("; give another --port, or 0 for a free one")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://127.0.0.1:1/db?passwrd=x", 'connection option "passwrd"; correct the parameters of its URL'),
        ("sqlite:///{}/x.db?timeout=abc", "has a parameter of another type"),
    ],
)
def test_parameters_of_a_ledger(tmp_path: Path, url: str, says: str) -> None:
    """Without the parameter another error, or none, follows."""
    named = url.format(tmp_path)
    refused = Place(tmp_path, named).call("db", "upgrade")
    without = Place(tmp_path, named.partition("?")[0]).call("db", "upgrade")

    assert isinstance(refused.exception, OptionsError)
    assert says in str(refused.exception)
    assert not isinstance(without.exception, OptionsError)


def test_output_that_cannot_be_written_is_one_line(place: Place) -> None:
    """A table on a full disk."""
    place.call("db", "upgrade")
    code = "from airflow_provider_blockread.cli import main; main()"
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-c", code, "windows", "list", *place.state]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=240, check=False)

    assert done.stderr.startswith("Error: the output cannot be written (No space left on device); make room")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize(("stdin", "says"), [("</dev/null", True), ("<&-", True), ("<<<n", False)])
def test_a_question_without_an_answer(place: Place, output: list[str], stdin: str, *, says: bool) -> None:
    """The option that answers is named if the input has ended or is closed, and not after a no."""
    place.call(*output, "--window", "monday")
    code = "from airflow_provider_blockread.cli import main; main()"
    command = shlex.join([sys.executable, "-c", code, "windows", "undo", "monday", *place.state])
    done = subprocess.run(["bash", "-c", command + stdin], capture_output=True, text=True, timeout=240, check=False)

    assert ("no answer could be read; repeat the command with --yes" in done.stderr) == says
    assert (done.returncode, done.stderr[-9:]) == (1, "Aborted!\n")
