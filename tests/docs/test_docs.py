"""Every command and snippet in the documentation is run or parsed."""

from __future__ import annotations

import re
import shlex
import sqlite3
import subprocess
import tomllib
from contextlib import closing
from pathlib import Path
from textwrap import dedent

import click
import pytest
import yaml

from airflow_provider_blockread.cli.commands import blockread
from airflow_provider_blockread.options import FORMATS, SINKS
from tests.ledgers import open_ledger

_ROOT = Path(__file__).parents[2]
_PAGES = [_ROOT / "README.md", _ROOT / "CONTRIBUTING.md", *sorted((_ROOT / "docs").rglob("*.md"))]
_IN_A_SESSION = "data_source.md"  # tests/spark/data_source runs its snippets
_FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
#: Languages of snippets: those that tests below run or parse, and those that show what a program prints or reads.
_LANGUAGES = {"bash", "console", "json", "python", "sql", "yaml"} | {"dockerfile", "text"}
#: Programs of others that a console may show.
_OTHERS = {"docker", "helm", "hdfs", "kubectl", "pg_dump", "pip", "python3.11"}


def _fences(language: str) -> list[tuple[str, str]]:
    return [
        (page.name, dedent(body))
        for page in _PAGES
        for _, kind, body in _FENCE.findall(page.read_text())
        if kind == language
    ]


def _all_commands() -> list[str]:
    lines = [line for _, body in _fences("console") for line in body.splitlines()]
    return list(dict.fromkeys(line[2:].split("  #")[0].strip() for line in lines if line.startswith("$ ")))


def _commands(program: str) -> list[str]:
    return [command for command in _all_commands() if command.startswith(f"{program} ")]


@pytest.mark.parametrize("command", _commands("blockread"))
def test_every_blockread_command_shown_parses(command: str) -> None:
    """Its subcommands and options exist and take the values shown."""
    arguments = shlex.split(command)[1:]
    group: click.Command = blockread
    context = click.Context(blockread)
    while isinstance(group, click.Group):
        name = arguments.pop(0)
        found = group.get_command(context, name)
        assert found is not None, name
        group = found

    group.make_context("blockread", arguments)


@pytest.mark.parametrize("command", _commands("make"))
def test_every_make_command_shown_is_a_target(command: str) -> None:
    """The Makefile has it, and `make help` lists it."""
    target = shlex.split(command)[1]

    assert re.search(rf"^{target}:.*## ", (_ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("command", _commands("airflow"))
def test_every_airflow_command_shown_parses(command: str) -> None:
    """Airflow's own command line has it, with these options."""
    from airflow.cli.cli_parser import get_parser

    assert get_parser().parse_args(shlex.split(command)[1:])


def test_every_snippet_is_of_a_kind_that_is_checked() -> None:
    """A console shows known programs; a snippet of another language needs a test here."""
    programs = {Path(shlex.split(command)[0]).name for command in _all_commands()}
    languages = {kind for page in _PAGES for _, kind, _ in _FENCE.findall(page.read_text())}

    assert programs <= {"airflow", "blockread", "make", "venv-pack"} | _OTHERS
    assert languages <= _LANGUAGES


@pytest.mark.parametrize("body", [body for _, body in _fences("bash")])
def test_every_script_parses(body: str) -> None:
    """Bash reads it, and what it makes are targets."""
    makefile = (_ROOT / "Makefile").read_text()

    subprocess.run(["bash", "-n"], input=body, text=True, check=True)
    assert [name for name in re.findall(r"^make (\w+)", body, re.MULTILINE) if f"\n{name}:" not in makefile] == []


@pytest.mark.parametrize("body", [body for _, body in _fences("sql")])
def test_every_query_runs(body: str, tmp_path: Path) -> None:
    """On an empty ledger."""
    open_ledger(f"sqlite:///{tmp_path}/ledger.db").close()
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as ledger:
        for statement in body.split(";"):
            ledger.execute(statement)


@pytest.mark.parametrize("body", [body for _, body in _fences("json")])
def test_every_connection_shown_is_one(body: str) -> None:
    """Airflow reads the JSON, and this package the type."""
    from airflow.sdk import Connection

    connection = Connection.from_json(body)

    assert connection.host
    assert connection.conn_type in {"blockread", "spark", "spark_connect"}


@pytest.mark.parametrize("body", [body for _, body in _fences("yaml")])
def test_every_yaml_snippet_parses(body: str) -> None:
    """It is one document."""
    assert yaml.safe_load(body)


@pytest.mark.parametrize(("page", "body"), [fence for fence in _fences("python") if fence[0] != _IN_A_SESSION])
def test_every_python_snippet_runs(page: str, body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A DAG shown is a DAG that parses, in a file of its own; what a script writes is below its working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / page
    path.write_text(body)
    exec(compile(body, path, "exec"), {"__name__": "snippet"})  # noqa: S102 - our own documentation


def test_every_link_into_the_repository_leads_somewhere() -> None:
    """Relative links name files that exist."""
    for page in _PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_row_of_a_table_has_its_columns() -> None:
    """As many as the row above it, the header or another one; in code a bar is no border."""
    rows = [
        (page.name, number, line)
        for page in _PAGES
        for number, line in enumerate(page.read_text().splitlines())
        if line.startswith("|")
    ]
    widths = {(page, number): re.sub(r"`[^`]*`", "", line).count("|") for page, number, line in rows}

    assert [row for row in rows if widths.get((row[0], row[1] - 1), widths[row[:2]]) != widths[row[:2]]] == []


def test_the_readme_lists_every_format_and_sink() -> None:
    """The tables are complete."""
    readme = (_ROOT / "README.md").read_text()
    assert [name for name in FORMATS if f"| `{name}` |" not in readme] == []
    assert [sink.__name__ for sink in SINKS.values() if f"`{sink.__name__}`" not in readme] == []


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("laws.md", 20),
        ("operations.md", 10),
        ("security.md", 50),
        ("clusters/standalone.md", 5),
        ("engines.md", 15),
        ("no_idle_worker.md", 15),
    ],
)
def test_every_test_that_a_table_names_exists(page: str, least: int) -> None:
    """The tables of laws, threats, clears, engines and deferred work name files and functions that are there."""
    named = re.findall(r"`([a-z_/]+/test_\w+\.py)(?:::(\w+))?`", (_ROOT / "docs" / page).read_text())

    assert len(named) > least
    for file, test in named:
        text = (_ROOT / "tests" / file).read_text()
        assert not test or f"def {test}(" in text, f"{file}::{test}"


@pytest.mark.parametrize(("page", "least"), [("security.md", 40), ("no_idle_worker.md", 10)])
def test_every_claim_names_its_test(page: str, least: int) -> None:
    """Each row of a table with a column of tests has one in it."""
    claims, without, column = 0, [], False
    for line in (_ROOT / "docs" / page).read_text().splitlines():
        if not line.startswith("|"):
            column = False
        elif line.endswith("| test |"):
            column = True
        elif column and not line.startswith("|---"):
            claims += 1
            without += [] if re.search(r"`[a-z_/]+/test_\w+\.py::\w+` \|$", line) else [line]

    assert claims > least
    assert without == []


def test_every_extra_is_on_the_page_on_installing() -> None:
    """In the order of pyproject.toml, with what it brings."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    page = (_ROOT / "docs" / "install.md").read_text()
    rows = {extra: line for line in page.splitlines() for extra in re.findall(r"^\| `([\w-]+)` \|", line)}

    assert list(rows) == list(project["optional-dependencies"])


def test_the_glossary_names_modules_that_exist_in_alphabetical_order() -> None:
    """Each word has one row, with the file or folder that defines it."""
    rows = re.findall(
        r"^\| ([a-z -]+) \| .+\. \| `(.+)` \|$", (_ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE
    )
    words, modules = zip(*rows, strict=True)

    assert len(words) > 40
    assert list(words) == sorted(set(words))
    assert [module for module in modules if not (_ROOT / "airflow_provider_blockread" / module).exists()] == []


def test_every_path_of_the_recipes_exists() -> None:
    """The guide for contributors names files and folders that are there."""
    page = (_ROOT / "CONTRIBUTING.md").read_text()
    named = re.findall(r"`((?:[a-z_.]+/)+(?:[a-z_.]+\.(?:py|md|toml|txt|yaml))?)`", page)
    roots = (_ROOT, _ROOT / "airflow_provider_blockread")

    assert len(named) > 40
    assert [path for path in named if not any((root / path).exists() for root in roots)] == []


def test_every_command_is_in_the_documentation() -> None:
    """Somewhere, people see how it is called."""
    pages = "".join(page.read_text() for page in _PAGES)

    assert [command for command in _leaves(blockread, "blockread") if command not in pages] == []


def _leaves(command: click.Command, name: str) -> list[str]:
    if not isinstance(command, click.Group):
        return [name]
    return [leaf for part, below in command.commands.items() for leaf in _leaves(below, f"{name} {part}")]
