"""The command line's options that select the files of a window."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.place import Place

PATTERN = ["--time-pattern", "dt=%Y-%m-%d/hr=%H"]


@pytest.fixture
def hours(place: Place) -> Place:
    """A source of four hours, a file of 10 bytes each, and one file without a time."""
    files = {f"dt=2026-11-21/hr={hour:02d}/f{hour}.log": b"123456789\n" for hour in range(4)}
    place.put(files | {"notes.log": b"1\n"})
    return place


def _names(shown: dict[str, Any]) -> list[str]:
    return [file["path"].rpartition("/")[2].removesuffix(".log") for file in shown["sample"]]


@pytest.mark.parametrize(
    ("options", "names", "left_out"),
    [
        ([], ["f0", "f1", "f2", "f3"], {}),
        (["--interval", "2026-11-21T01:00/2026-11-21T03:00Z"], ["f1", "f2"], {}),
        (["--interval", "2026-11-21T01:00/2026-11-21T02:00", "--order", "newest"], ["f1"], {}),
        (["--order", "newest", "--max-bytes", "25B", "--max-files", "3"], ["f3", "f2"], {}),
        (["--block-size", "5B", "--max-blocks", "5"], ["f0", "f1"], {}),
        (["--start-from", "2026-11-21T02:00"], ["f2", "f3"], {"before_start": 2}),
        (["--max-age", "1s"], [], {"too_old": 4}),
    ],
)
def test_plan_shows_what_is_selected(
    hours: Place, options: list[str], names: list[str], left_out: dict[str, int]
) -> None:
    """Each option affects the plan, which reports how many files are left out and why."""
    shown = hours.json("plan", str(hours.source), *PATTERN, *options)

    assert (_names(shown), shown["left_out"]) == (names, {"untimed": 1} | left_out)


@pytest.mark.parametrize(
    ("options", "names", "left_out"),
    [
        (["--pattern", "*1.log", "--pattern", r"re:.*/hr=0[23]/.*"], ["f1", "f2", "f3"], {}),
        (["--exclude", "re:dt=.*", "--exclude", "x*"], ["notes"], {}),
        (["--max-depth", "1"], ["notes"], {}),
        (["--min-size", "3B"], ["f0", "f1", "f2", "f3"], {"too_small": 1}),
        (["--max-size", "3B"], ["notes"], {"too_large": 4}),
        (["--max-depth", "2", "--pattern", "*.l*"], ["notes"], {"linked_out": 1}),
        (["--follow-links", "anywhere", "--pattern", "*.link", "--pattern", "notes.*"], ["notes", "out.link"], {}),
        (["--min-age", "1h"], [], {"young": 5}),
        (["--done-marker", "{stem}.done"], ["f2"], {"unmarked": 4}),
        (["--hidden", "--pattern", ".h*"], [".hidden"], {}),
    ],
)
def test_plan_shows_what_is_listed(
    hours: Place, options: list[str], names: list[str], left_out: dict[str, int]
) -> None:
    """The options of the source affect the listing, and files that it holds back are counted."""
    hours.put({"dt=2026-11-21/hr=02/f2.done": b"", ".hidden.log": b"1\n"})
    if any("*.l" in option for option in options):
        (hours.source / "out.link").symlink_to(hours.folder / "ledger.db")
    if "--done-marker" not in options:
        (hours.source / "dt=2026-11-21/hr=02/f2.done").unlink()
    shown = hours.json("plan", str(hours.source), "--name", "listed", *options)

    assert (_names(shown), shown["left_out"]) == (names, left_out)


def test_plan_tells_people_what_is_left_out(hours: Place) -> None:
    """The table has a line for it."""
    done = hours.call("plan", str(hours.source), *PATTERN, "--start-from", "2026-11-21T02:00")

    assert "without a time (on_untimed='ignore'" in done.stdout
    assert "2 before start_from='2026-11-21T02:00'" in done.stdout


def test_plan_tells_the_part_of_a_large_file(hours: Place) -> None:
    """Text shows the range of bytes and the size; JSON has numbers."""
    options = [str(hours.source), *PATTERN, "--block-size", "4B", "--max-bytes", "9B"]
    done, shown = hours.call("plan", *options), hours.json("plan", *options)

    assert "f0.log: part 1 of a file, bytes 0 to 8 of 10; the next windows continue there" in done.stdout
    (part,) = shown["parts"]
    assert (part.pop("path").rpartition("/")[2], part) == ("f0.log", {"size": 10, "part": 1, "start": 0, "end": 8})
    assert (shown["files"], shown["bytes"], shown["blocks"]) == (1, 8, 2)


def test_a_list_of_files_is_planned_instead_of_all(hours: Place) -> None:
    """Of the files of SOURCE, as text or as JSON lines; a file listed twice is taken once."""
    paths = [f"{hours.source}/dt=2026-11-21/hr=0{hour}/f{hour}.log" for hour in (3, 1, 3)]
    (hours.folder / "list.txt").write_text("\n".join(paths))
    (hours.folder / "list.jsonl").write_text("\n".join(json.dumps({"path": path}) for path in paths))
    for name in ("list.txt", "list.jsonl"):
        options = ["--files-from", f"{hours.folder}/{name}", "--name", name]
        shown = hours.json("plan", str(hours.source), *PATTERN, *options)
        assert (_names(shown), shown["seen"], shown["left_out"]) == (["f1", "f3"], 2, {})


def test_plan_tells_which_block_size_was_chosen_and_why(hours: Place) -> None:
    """As text and JSON, of each kind and of the first files; readers are those that `run` would use."""
    with (hours.source / "large.log").open("wb") as file:
        file.truncate(100 * 2**20)
    options = [str(hours.source), "--block-size", "auto", "--max-readers", "4"]
    done, shown = hours.call("plan", *options), hours.json("plan", *options)

    assert "9, of sizes that let 4 readers share a file" in done.stdout
    assert "1 file: 32 MiB, 1/2 of the store's 64 MiB: a share for each reader" in done.stdout
    small = {"block_size": 2**24, "store_block": 2**26, "why": "small"}
    large = {"block_size": 2**25, "store_block": 2**26, "why": "shared"}
    assert shown["block_sizes"] == [small | {"files": 5}, large | {"files": 1}]
    assert [{name: file[name] for name in small} for file in shown["sample"]].count(large) == 1


def test_plan_tells_how_many_readers_and_why(hours: Place) -> None:
    """As text and JSON; a limit alone chooses nothing."""
    with (hours.source / "large.log").open("wb") as file:
        file.truncate(100_000_000)
    options = [str(hours.source), "--block-size", "1MiB", "--target-minutes", "0.01", "--min-readers", "2"]
    done, shown = hours.call("plan", *options), hours.json("plan", *options, "--max-readers", "4")

    expected = "6 readers: 100.0 MB at 32.0 MB/s each (default; no window measured yet) take 0.5 s of 0.6 s"
    assert expected in " ".join(done.stdout.split())
    assert (shown["readers"], len(shown["groups"])) == (4, 1)
    assert shown["readers_chosen"] == {
        "bytes": shown["bytes"],
        "rate": 32_000_000,
        "windows_measured": 0,
        "target_seconds": 0.6,
        "min_readers": 2,
        "max_readers": 4,
        "seconds": 0.781,
        "why": "most",
    }
    assert "at most 3 (max_readers)" in hours.call("plan", str(hours.source), "--max-readers", "3").stdout
    limited = hours.json("plan", str(hours.source), "--max-readers", "3")
    assert (limited["readers"], limited["readers_chosen"]) == (3, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--min-readers", "9", "--max-readers", "3"], "min_readers=9 must be at most max_readers=3"),
        (["--min-readers", "9"], "set target_minutes, or leave both out"),
        (["--window", " "], "--window is blank; give it a value"),
        (["--window", ""], "--window is blank; give it a value"),
        (["--interval", "2026-11-21"], "must be START/END"),
        (["--interval", "2026-11-21/2026-11-21"], "is empty: its end must be after its start"),
        (["--interval", "soon/2026-11-21"], "'soon' is not a time"),
        (["--start-from", "soon"], "'soon' is not a time; write it as 2026-11-21"),
        (["--max-age", "old"], "'old' is not a duration; write seconds as 90, or 45min"),
        (["--max-bytes", "much"], "'much' is not a size"),
        (["--min-size", "some"], "'some' is not a size"),
        (["--min-age", "old"], "'old' is not a duration"),
        (["--done-marker", "done/"], "is not a marker"),
        (["--exclude", "re:("], "is not a regular expression"),
        (["--files-from", "/none.txt"], "the list file:///none.txt does not exist"),
        (["--time-pattern", "%H"], "must contain %Y and then finer"),
        ([*PATTERN, "--on-untimed", "fail"], "notes.log has no time"),
    ],
)
def test_options_that_mean_nothing_are_refused(hours: Place, options: list[str], message: str) -> None:
    """One line with the error and the correct form."""
    done = hours.call("plan", str(hours.source), *options)

    assert done.exit_code == 1
    assert message in str(done.exception)


def test_a_state_that_no_file_can_have_is_refused(hours: Place) -> None:
    """A mistyped state is not an empty list: the error names the valid ones."""
    done = hours.call("files", "list", "feed", "--file-state", "pendign")

    assert done.exit_code == 2
    assert "'pendign' is not one of 'pending', 'planned', 'done'" in done.stderr
