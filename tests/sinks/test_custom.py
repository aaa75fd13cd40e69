"""A sink of one's own: the documentation's example passes the suite, and the suite refuses one that loses rows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import CustomSink, Sink
from airflow_provider_blockread.options.values import from_json
from airflow_provider_blockread.sinks.registry import make_sink
from tests.sinks.documented import MODULE, SNIPPETS
from tests.sinks.kinds import STORES

_FORGETFUL = """
from arrow_directory import ArrowDirectory


class Forgetful(ArrowDirectory):
    def undo(self, outputs, marker):
        return len(outputs.by_uri)
"""


def _suite(folder: Path, *, tests: str) -> subprocess.CompletedProcess[str]:
    """Run the page's tests as a user does, in a folder of its own."""
    (folder / f"{MODULE}.py").write_text(SNIPPETS[0])
    (folder / "test_arrow_directory.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_arrow_directory.py"]
    return subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": "."}, capture_output=True, text=True, check=False, timeout=500
    )


@pytest.mark.slow
def test_the_suite_runs_over_the_example_as_the_page_says(tmp_path: Path) -> None:
    """From a folder with the page's two files."""
    done = _suite(tmp_path, tests=SNIPPETS[1])

    assert done.returncode == 0, done.stdout
    assert "22 passed" in done.stdout


@pytest.mark.slow
def test_the_suite_says_which_promise_a_sink_breaks(tmp_path: Path) -> None:
    """One whose undo leaves its files; the failure shows the values that were compared."""
    (tmp_path / "forgetful.py").write_text(_FORGETFUL)
    tests = SNIPPETS[1].replace(f"{MODULE}:ArrowDirectory", "forgetful:Forgetful")
    done = _suite(tmp_path, tests=tests)

    assert done.returncode == 1
    assert "test_an_overtaken_publisher_finds_nothing_to_publish" in done.stdout
    assert "assert [1, 1] == [1, 0]" in done.stdout


def test_the_option_goes_to_json_and_back_and_comes_from_texts() -> None:
    """Arguments of the class are beside the option's own."""
    option = CustomSink(
        "/out", path=f"{MODULE}:ArrowDirectory", suffix=".arrow", options={"codec": "lz4"}, conn_id="store"
    )
    texts = {"path": f"{MODULE}:ArrowDirectory", "suffix": ".arrow", "codec": "lz4", "conn_id": "store"}

    assert from_json(option.to_json()) == option
    assert CustomSink.from_texts("/out", texts) == option
    assert make_sink(STORES, option).uri == "file:///out"


def _refusal(option: Sink) -> str:
    with pytest.raises(OptionsError) as refused:
        make_sink(STORES, option)
    return str(refused.value)


def test_what_is_no_sink_is_refused() -> None:
    """In words that say what is missing, and where to read on."""
    assert "'json:loads' is not a class; derive it from sinks.Directory" in _refusal(
        CustomSink("/o", path="json:loads")
    )
    assert "'pathlib:Path' lacks prepare, writer" in _refusal(CustomSink("/o", path="pathlib:Path"))
    assert "see docs/how_to/own_sink.md" in _refusal(CustomSink("/o", path="pathlib:Path"))
    assert "does not take the options {'width': 'x'}" in _refusal(
        CustomSink("/o", path=f"{MODULE}:ArrowDirectory", options={"width": "x"})
    )
    assert "cannot be imported" in _refusal(CustomSink("/o", path="no_such_module:Sink"))


def test_a_path_must_name_a_class_and_options_hold_no_secret() -> None:
    """Both are refused when the DAG is parsed."""
    with pytest.raises(OptionsError, match=r"path must be 'package\.module:Class', not 'orc'"):
        CustomSink("/o", path="orc")
    for secret in (
        {"api_token": "x"},
        {"auth": [{"password": "x"}]},
        {"api_key": "x"},
        {"private_key": "x"},
        {"passphrase": "x"},
        {"pwd": "x"},
        {"headers": ["Bearer x"]},
        {"headers": ["Basic YWxhZGRpbjpvcGVu"]},
    ):
        with pytest.raises(OptionsError, match=f"option {next(iter(secret))} holds a secret"):
            CustomSink("/o", path="a:B", options=secret)
    assert CustomSink("/o", path="a:B", options={"style": "basic latin"}).options == {"style": "basic latin"}
    assert CustomSink("/o", path="a:B", access_conn_id="c").access_conn_id == "c"
