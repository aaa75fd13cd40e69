"""`blockread run` and `windows verify`, with Spark on two cores."""

from __future__ import annotations

import json
import lzma
import re
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from tests.cli.place import Place

pytestmark = pytest.mark.spark

_KEYS = {"window", "files", "blocks", "groups", "records", "bytes", "bad_records", "seconds", "proof"}

# The function kills the JVM for which its worker works, as a system does for want of memory.
_KILLS_ONCE = """
import pathlib, time
import psutil
def kills_once(batch):
    mark = pathlib.Path(__file__).with_name("killed")
    if not mark.exists():
        mark.touch()
        next(process for process in psutil.Process().parents() if "java" in process.name()).kill()
        time.sleep(60)
    return batch
"""


def _values(place: Place) -> list[str]:
    return sorted(ds.dataset(str(place.folder / "out"), format="parquet").to_table()["value"].to_pylist())


def test_run_twice_and_verify(place: Place) -> None:
    """A run reads new files and reports one object; the next finds nothing; the window can be verified by its key."""
    place.put({"a.log": b"one\r\ntwo\n", "deep/b.log": b"three"})
    first, second, by_key, verified, text, same = place.many(
        place.run("--json", "--block-size", "4", "--window", "monday", "--compression", "zstd"),
        place.run("--json"),
        place.run("--json", "--window", "monday", "--compression", "zstd"),
        ["windows", "verify", "monday", "--master", "local[2]", "--json", *place.state],
        place.run(),
        place.run("--window", "monday", "--compression", "zstd"),
    )

    assert set(first.json) >= _KEYS
    assert {name: first.json[name] for name in ("files", "blocks", "groups", "records", "bytes", "bad_records")} == {
        "files": 2,
        "blocks": 5,
        "groups": 1,
        "records": 3,
        "bytes": 14,
        "bad_records": 0,
    }
    assert (first.json["proof"], _values(place)) == ("proven", ["one", "three", "two"])
    assert (second.json["files"], second.json["records"], second.json["proof"]) == (0, 0, "nothing to read")
    assert (by_key.json["window"], by_key.json["windows"], by_key.json["records"]) == (first.json["window"], [], 0)
    assert by_key.json["message"] == f"window {first.json['window']} is published already"
    assert (verified.json["status"], verified.json["records"]) == ("verified", 3)
    assert re.fullmatch(r"nothing read  window \w{16}: nothing new to read\n", text.stdout)
    assert re.fullmatch(r"nothing read  window \w{16} is published already\n", same.stdout)


def test_the_key_of_an_abandoned_window(place: Place) -> None:
    """A run of it reads nothing and says why; its remedy works."""
    place.put({"a.log": b"one\n\xff\n"})
    failed, abandoned, again, text = place.many(
        place.run("--window", "monday"),
        ["windows", "abandon", "monday", "--yes", *place.state],
        place.run("--window", "monday", "--json"),
        place.run("--window", "monday"),
    )
    assert (failed.exit_code, abandoned.exit_code) == (1, 0)
    why = r"window \w{16} and its key 'monday' were abandoned; a run with another key takes its files"
    assert re.fullmatch(why, again.json["message"])
    assert (again.json["proof"], again.json["windows"]) == ("nothing to read", [])
    assert re.fullmatch(rf"nothing read  {why}\n", text.stdout)

    [other] = place.many(place.run("--window", "tuesday", "--on-bad-record", "drop", "--json"))
    assert (other.json["records"], other.json["message"]) == (2, "")


def test_what_a_window_has_read_is_what_it_says(place: Place) -> None:
    """Progress counts the bytes of a corrected file, and none of an excluded one."""
    place.put({"a.log": b"\xff\n", "b.log": b"two\n"})
    [failed] = place.many(place.run("--window", "k"))
    [planned] = place.json("windows", "list")
    assert (failed.exit_code, planned["bytes"], planned["records"], planned["bad_records"]) == (1, 6, None, None)
    place.put({"a.log": b"corrected\n"})
    [done] = place.many(["reprocess", "--window", "k", "--yes", "--master", "local[2]", *place.state])
    assert done.exit_code == 0, done.error
    shown = place.json("windows", "show", "k")
    assert (shown["bytes"], shown["records"], shown["planned_by"] is not None) == (14, 2, True)


def test_until_empty(place: Place) -> None:
    """With a limit a run takes one window, and with `--until-empty` as many as it needs."""
    place.put({f"{i}.log": b"%d\n" % i for i in range(5)})
    one, rest = place.many(
        place.run("--json", "--max-files", "2"), place.run("--json", "--max-files", "2", "--until-empty")
    )

    assert (one.json["files"], rest.json["files"], len(rest.json["windows"])) == (2, 3, 2)
    assert _values(place) == list("01234")


def test_failed_window_is_finished_first(place: Place) -> None:
    """A window that an earlier run left unpublished is finished by the next one, before new files are taken."""
    place.put({"a.log": b"fine\n\xff\n"})
    failed = place.shell(*place.run()[:-2])
    place.put({"b.log": b"later\n"})
    text, _ = place.many(place.run("--on-bad-record", "drop"), place.run("--json"))

    assert failed.returncode == 1
    last = failed.stderr.splitlines()[-1]
    assert re.match(r"Error: feed \S+/in window [0-9a-f]{16}: lines record at byte 5 of file://", last)
    assert not any(word in failed.stderr for word in ("Traceback", "WARNING", "log level", "Exception"))
    assert "of an earlier run is finished first" in text.stderr
    assert "records    3, 1 of them bad" in text.stdout
    assert _values(place) == ["fine", "later"]


def test_a_corrected_file_is_read_by_the_command_that_the_error_names(place: Place) -> None:
    """The run itself is strict: another version is read only on request."""
    place.put({"a.log": b"fine\n\xff\n", "b.log": b"other\n"})
    failed = place.shell(*place.run()[:-2])
    place.put({"a.log": b"fine\nbetter\n"})
    (named,) = re.findall(r"to read a corrected file: `blockread ([^`]+)`", failed.stderr)
    strict, done, later = place.many(
        place.run(), [*named.split(), "--yes", "--master", "local[2]", *place.state], place.run("--json")
    )

    assert (failed.returncode, strict.exit_code) == (1, 1)
    assert f"to read it as it is now: `blockread {named}`" in strict.error
    assert (done.exit_code, _values(place)) == (0, ["better", "fine", "other"])
    assert later.json["proof"] == "nothing to read"


def test_failed_proof_is_read_again(place: Place) -> None:
    """After a proof that failed, the same run again reads the groups again and publishes."""
    (place.folder / "harm.py").write_text(
        "import pathlib, sys\n"
        "from airflow_provider_blockread.cli.commands import blockread\n"
        "from airflow_provider_blockread.steps.commit import committing\n"
        "from click.testing import CliRunner\n"
        "class Harmed(committing._Commitment):\n"
        "    def _results(self):\n"
        "        results = super()._results()\n"
        "        pathlib.Path(results[0].outputs[0].uri.removeprefix('file://')).unlink()\n"
        "        return results\n"
        "committing._Commitment = Harmed\n"
        "sys.exit(CliRunner().invoke(blockread, sys.argv[1:]).exit_code)\n"
    )
    place.put({"a.log": b"one\n"})
    assert place.program("harm.py", *place.run()) == 1
    [listed] = place.json("windows", "list")
    assert listed["state"] == "failed"
    assert "cannot be counted" in listed["error"]
    place.many(place.run())

    assert _values(place) == ["one"]


def test_function_of_the_working_folder(place: Place) -> None:
    """A function is imported from the working directory, and typed formats take a schema."""
    (place.folder / "mine.py").write_text(
        "def keep(batch):\n    return batch.filter([value > 1 for value in batch['id'].to_pylist()])\n"
    )
    place.put({"a.jsonl": b'{"id": 1}\n{"id": 2}\n{"id": 3}\n'})
    done = place.shell(
        *place.run("--format", "json_lines", "--schema", "id long", "--function", "mine:keep", "--json")[:-2]
    )

    assert done.returncode == 0, done.stderr
    table = ds.dataset(str(place.folder / "out"), format="parquet").to_table()
    assert sorted(table["id"].to_pylist()) == [2, 3]
    assert not Path(place.folder / "out.blockread").is_relative_to(place.folder / "out")


def test_files_of_the_working_folder_are_not_imported(place: Place) -> None:
    """Libraries try to import modules of other systems; a file that landed under such a name is no module."""
    for name in ("org", "msvcrt", "nt", "_winapi"):
        (place.folder / f"{name}.py").write_text("open('imported', 'w')\n")
    done = place.shell("plan", ".", "--pattern", "*.py")

    assert done.returncode == 0, done.stderr
    assert not (place.folder / "imported").exists()


def test_a_function_of_dataframes(place: Place) -> None:
    """It is imported from the working directory, too."""
    (place.folder / "frames.py").write_text("def first(records):\n    return records.orderBy('value').limit(1)\n")
    place.put({"a.log": b"two\none\n"})
    done = place.shell(*place.run("--dataframe-function", "frames:first", "--json")[:-2])

    assert done.returncode == 0, done.stderr
    assert _values(place) == ["one"]


_NOISY = """
import os, sys
print("at import")
def frame(records):
    print("in the call")
    sys.__stdout__.write("past the stream\\n")
    os.system("echo in a child")
    records.show()
    records.sparkSession._jvm.java.lang.System.out.println("in the JVM")
    return records
"""


def test_what_a_function_prints_is_not_output(place: Place) -> None:
    """Standard output is one JSON document, whatever a function, the programs that it starts, and Spark print."""
    (place.folder / "noisy.py").write_text(_NOISY)
    place.put({"a.log": b"one\n"})
    run = place.shell(*place.run("--dataframe-function", "noisy:frame", "--window", "w", "--json")[:-2])
    rebuilt = place.shell("windows", "rebuild", "w", "--yes", "--master", "local[2]", "--json")

    for done in (run, rebuilt):
        assert done.returncode == 0, done.stderr
        for words in ("at import", "in the call", "past the stream", "in a child", "|  one|", "in the JVM"):
            assert words in done.stderr
    assert json.loads(run.stdout)["records"] == json.loads(rebuilt.stdout)[0]["records"] == 1


def test_queries(place: Place) -> None:
    """A query is run over the records; what Spark says of a wrong one is a line."""
    place.put({"a.log": b"one\ntwo\n"})
    query = "SELECT upper(value) AS value FROM records"
    wrong, done = place.many(
        place.run("--sql", query.replace("value)", "valu)"), "--scope", "group"), place.run("--sql", query, "--json")
    )

    assert re.search(r"the SQL query fails: \[UNRESOLVED_COLUMN.*`valu`.*; correct it and clear", wrong.error)
    assert "\tat " not in wrong.error + wrong.stderr
    assert (done.json["records"], done.json["rows"], _values(place)) == (2, 2, ["ONE", "TWO"])


def test_a_run_into_text(place: Place) -> None:
    """Options of the sink are given as those of the format are."""
    place.put({"a.log": b"one\ntwo\n"})
    (done,) = place.many(
        place.run("--json", "--sink", "text", "--sink-option", r"terminator=\0", "--compression", "xz")
    )
    (file,) = (place.folder / "out").glob("*.txt.xz")

    assert (done.json["rows"], lzma.decompress(file.read_bytes())) == (2, b"one\0two\0")


def test_a_run_without_a_ledger_leaves_nothing_in_the_work_area(place: Place) -> None:
    """No later run could clear it; published output stays, next to that of the earlier run."""
    place.put({"a.log": b"one\n"})
    forgetful = Place(folder=place.folder, ledger="noop://")
    first, second = place.many(forgetful.run("--json"), forgetful.run("--json"))

    assert (first.json["records"], second.json["records"], _values(place)) == (1, 1, ["one", "one"])
    assert [path.name for path in (place.folder / "out.blockread").rglob("*") if path.is_file()] == ["ledger"]


def test_a_run_continues_after_its_spark_has_ended(place: Place) -> None:
    """The error says what may have happened, and the same command reads each record once."""
    place.put({"a.log": b"one\ntwo\n"})
    (place.folder / "killer.py").write_text(_KILLS_ONCE, "utf-8")
    command = ["run", str(place.source), "--output", str(place.folder / "out"), "--master", "local[1]"]
    command += ["--function", "killer:kills_once"]
    failed, done = place.shell(*command), place.shell(*command)

    assert failed.returncode == 1
    *_, last = failed.stderr.splitlines()
    assert last.startswith("Error: ")
    assert "Spark has ended during the job" in last
    assert last.endswith("run fewer tasks at once (--master 'local[1]'), then run the same command again")
    assert done.returncode == 0, done.stderr
    assert _values(place) == ["one", "two"]
