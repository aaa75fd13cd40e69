"""Bad input in a terminal: one line with error, place and remedy; exit code 1, and nothing published."""

from __future__ import annotations

import gzip
import os

import pytest

from airflow_provider_blockread.errors import OptionsError
from tests.cli.place import Place

_CSV = ["--format", "csv", "--schema", "a long, b string"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format-option", "encoding=klingon"], "unknown encoding 'klingon'; use utf-8, binary, utf-16"),
        (["--format-option", "compression=rar"], "compression must be one of auto, none, gzip"),
        (["--format", "csv", "--format-option", 'delimiter="'], "delimiter and quote must not be the same byte"),
        (["--format", "csv", "--format-option", 'escape="'], "with escape=None, as doubled quotes are always read"),
        (["--format", "csv", "--format-option", "delimiter=||"], "delimiter must be a single byte"),
        (
            ["--format", "csv", "--format-option", "quotes='"],
            "csv has no option 'quotes'; it has compression, delimiter",
        ),
        (["--format", "csv", "--schema", "a colour"], "colour"),
        (["--format", "csv", "--format-option", "columns=by_name"], "columns='by_name' needs header=True"),
        (["--format", "json_array", "--format-option", "layout=tree"], "layout must be one of auto, array, values"),
        (["--format", "custom", "--format-option", "path=nowhere:Format"], "'nowhere:Format' cannot be imported"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_options_are_refused_by_the_plan(place: Place, options: list[str], message: str) -> None:
    """Invalid options are refused before anything is listed, by plan and run alike."""
    done = place.call("plan", str(place.folder), *options)

    assert done.exit_code == 1
    assert message in str(done.exception)


_RUN = ["run", "in", "--output", "out"]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["plan", "in", "--name", "{}"], "--name"),
        (["plan", "in", "--window", "{}"], "--window"),
        (["plan", "{}"], "SOURCE, which names the feed where no option does"),
        ([*_RUN, "--name", "{}"], "--name"),
        ([*_RUN, "--window", "{}"], "--window"),
        (["run", "in", "--output", "{}"], "--output"),
        (["merge", "in", "--output", "{}"], "--output"),
        (["files", "list", "{}"], "FEED"),
        (["files", "new", "in", "--name", "{}"], "--name"),
        (["windows", "list", "--name", "{}"], "--name"),
        (["windows", "show", "{}"], "WINDOW"),
        (["windows", "verify", "{}"], "WINDOW"),
        (["windows", "rebuild", "{}"], "WINDOW"),
        (["windows", "rebuild", "w", "--feed", "{}"], "--name"),
        (["windows", "exclude", "w", "a", "--reason", "{}"], "--reason"),
        (["reprocess", "--window", "{}"], "--window"),
        (["clean", "--restore", "{}"], "--restore"),
        (["clean", "in", "--action", "delete", "--feed", "{}"], "--name"),
        (["clean", "in", "--action", "archive", "--archive", "{}"], "--archive"),
        (["prune", "--feed", "{}"], "--name"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_names_that_are_no_text_are_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch, arguments: list[str], what: str
) -> None:
    """A shell passes any bytes; the message names the argument, and with text in its place the command goes on."""
    monkeypatch.chdir(place.folder)
    place.call("db", "upgrade")
    done = place.call(*(argument.format(os.fsdecode(b"x\x80")) for argument in arguments))

    assert isinstance(done.exception, OptionsError)
    assert str(done.exception).startswith(f"{what}: '")
    assert str(done.exception).endswith(r"x\udc80' is not UTF-8, as text in the ledger is; correct it")
    assert "UTF-8" not in str(place.call(*(argument.format("x") for argument in arguments)).exception)


def test_a_name_that_is_no_text_is_one_line(place: Place) -> None:
    """It is printable, too."""
    done = place.shell("windows", "show", os.fsdecode(b"x\x80"))

    assert done.stderr == "Error: WINDOW: 'x\\udc80' is not UTF-8, as text in the ledger is; correct it\n"
    assert done.returncode == 1


@pytest.mark.spark
def test_bad_files_publish_nothing(place: Place) -> None:
    """Each is reported with its file and offset, and the same window can be run with other options."""
    packed = gzip.compress(b"1,x\n" * 1000)
    files = {
        "quote": (b'1,x\n2,"y\n3,z\n', _CSV, "the quote that opened at byte 6 of the file is not closed"),
        "nul": ("1,x\n".encode("utf-16-le"), _CSV, "if the file is UTF-16, set encoding"),
        "short.gz": (packed[:-9], _CSV, "is truncated"),
        "wrong.gz": (b"1,x\n", _CSV, "does not start as gzip data"),
        "behind.gz": (packed + b"more", _CSV, "has bytes after"),
        "header": (b"b,a\n1,x\n", [*_CSV, "--format-option", "header=true"], "the header has columns 'b', 'a' where"),
        "value": (b"1,x\ntwo,y\n", _CSV, "record at byte 4 of file://"),
    }
    commands = []
    for name, (data, options, _) in files.items():
        place.put({f"{name}/{name}": data})
        source, out = str(place.source / name), str(place.folder / f"out_{name}")
        master = ["--master", "local[2]", "--conf", "spark.ui.enabled=false"]
        commands.append(["run", source, "--output", out, *master, *options, "--json", *place.state])
    done = dict(zip(files, place.many(*commands), strict=True))

    for name, (_, _, message) in files.items():
        assert (done[name].exit_code, done[name].stdout) == (1, ""), name
        assert message in done[name].error, (name, done[name].error)
        assert f"/{name}" in done[name].error, (name, done[name].error)
        assert not list(place.folder.glob(f"out_{name}/*"))


@pytest.mark.spark
def test_a_run_reports_its_bad_records(place: Place) -> None:
    """A run reports how many records were bad and where they are kept, and the window shows the inferred columns."""
    place.put({"a.csv": b'id,msg\n1,"a\nb"\n2\n3,c\n'})
    options = [
        "--format",
        "csv",
        "--format-option",
        "header=true",
        "--on-bad-record",
        "quarantine",
        "--block-size",
        "4",
    ]
    (run,) = place.many(place.run(*options, "--json", "--window", "monday"))
    shown = place.json("windows", "show", "monday")

    assert (run.json["records"], run.json["bad_records"], run.json["rows"]) == (3, 1, 2)
    assert [uri.rpartition("/")[2] for uri in run.json["quarantine"]] == [run.json["window"]]
    assert shown["inferred_schema"] == "id long, msg string"
    assert "columns as found in 1 file: id long, msg string" in run.stderr
