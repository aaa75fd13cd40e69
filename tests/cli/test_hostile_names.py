"""Names with control sequences: none is written to the terminal, and commands in messages still work."""

from __future__ import annotations

import copy
import json
import os
import re
import shlex
import subprocess
import sys
import unicodedata
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_provider_blockread.cli.terminal.printing import print_facts, print_json, print_table
from airflow_provider_blockread.errors import BlockReadError, RecordError, SourceError, printable, shell_word
from tests.cli.place import Place
from tests.examples import examples

HOSTILE = [
    "\x1b]0;owned\x07.log",
    "\x1b[2J\x1b[31mred.log",
    "\u202egol.exe.log",
    "a\nError: forged.log",
    "b\r\u2028back.log",
    "[red]markup[bold]:smile:.log",
    "::group::x ::endgroup::.log",
    "c\x9b2J\x7f.log",
    "it's $(touch x) `y`;\\.log",
]
FEED, KEY = "feed\x1b[2J\nforged", "key\x1b]0;owned\x07"
_OWN = re.compile(r"\r?\n|\x1b\[[0-9;]*m")  # written by tables
_BIDIRECTIONAL = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}

texts = st.text(st.characters(exclude_categories=[])) | st.text(
    st.sampled_from("a\\'\"\x1b\n\u202e\x00 :$`é\udcff::group")
)


def assert_harmless(shown: str) -> None:
    """Check that text only prints."""
    for char in _OWN.sub("", shown):
        assert unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp"}, repr(char)
        assert unicodedata.bidirectional(char) not in _BIDIRECTIONAL, repr(char)
    assert "::group::" not in shown
    assert "::endgroup::" not in shown
    assert not re.search(r"^(Error: )?forged", shown, re.MULTILINE)


def terminal(place: Place, command: str) -> str:
    """Run a shell command where `blockread` is the command line, on a terminal, and return its output."""
    program = place.folder / "bin" / "blockread"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!{sys.executable}\nfrom airflow_provider_blockread.cli import main\nmain()\n")
    program.chmod(0o755)
    outer, inner = os.openpty()
    path = f"{program.parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "BLOCKREAD_STATE": place.state[1], "COLUMNS": "200", "TERM": "xterm"}
    with subprocess.Popen(
        ["bash", "-c", command], stdin=inner, stdout=inner, stderr=inner, cwd=place.folder, env=environment
    ):
        os.close(inner)
        shown = b""
        with suppress(OSError):  # what a terminal without its program says
            while some := os.read(outer, 2**16):
                shown += some
    os.close(outer)
    return shown.decode("utf-8", "surrogateescape")


@pytest.mark.spark
def test_no_name_reaches_the_terminal_as_it_is(place: Place) -> None:
    """Names of files, feeds, keys, reasons and errors; and a command copied from a message works."""
    place.put(dict.fromkeys(HOSTILE, b"fine\n") | {HOSTILE[0]: b"fine\n\xff\x1b[2J\n", HOSTILE[4]: b"\xff\n"})
    names = f"--name {shell_word(FEED)}"
    run = f"blockread run in --output out --master 'local[1]' --conf spark.ui.enabled=false --window {shell_word(KEY)} "
    shown = [
        terminal(place, f"blockread plan in {names}"),
        terminal(place, f"blockread files new in {names}"),
        terminal(place, run + names),
        terminal(place, "blockread windows list"),
    ]
    [window] = place.json("windows", "list")
    for name in (HOSTILE[0], HOSTILE[4]):
        path = shell_word(str(place.source / name))
        reason = shell_word("bad\x1b[2J\nforged")
        exclude = f"blockread windows exclude {window['window']} {path} --reason {reason}"
        shown += [terminal(place, f"{exclude} --dry-run"), terminal(place, f"{exclude} --yes")]
    missing = terminal(place, f"blockread windows exclude {window['window']} {shell_word(KEY)} --reason x --yes")
    listing = re.findall(r"`(blockread files list .*?)`", missing.replace("\r\n", ""))
    shown += [missing, *(terminal(place, f"{command}{more}") for command in listing for more in ("", " --json"))]
    shown += [
        terminal(place, f"blockread windows show {window['window']}"),
        terminal(place, f"blockread windows show {window['window']} --json"),
        terminal(place, f"blockread records {shell_word(str(place.source / HOSTILE[1]))}"),
        terminal(place, f"blockread records {shell_word(str(place.source / FEED))}"),
        terminal(place, run + names),
    ]

    for text in shown:
        assert_harmless(text)
    everything = "".join(shown)
    for name in HOSTILE:
        assert printable(name) in everything, name
    assert "Error: " in shown[2]
    assert len(listing) == 1
    assert sorted(Path(path).name for path in listed(place)) == sorted(set(HOSTILE))
    assert place.json("windows", "list")[0]["state"] == "published"


def listed(place: Place) -> list[str]:
    """Return the paths in the ledger, from JSON."""
    return [file["path"] for file in place.json("files", "list", FEED)]


@examples(500)
@given(text=texts)
@example("\x1b[2J")
@example("::group::")
@example(":::group::::endgroup::")
@example("👩\u200d👩 漢字\u3000é \u00a0")
def test_printable_text_is_one_harmless_line(text: str) -> None:
    """Printable characters are kept, others are escaped, once."""
    shown = printable(text)

    assert_harmless(f"x{shown}")
    assert "\n" not in shown
    assert printable(shown) == shown
    if text.isprintable() and "group" not in text:
        assert shown == text


@examples(60)
@example(["::group::"])
@given(
    words=st.lists(texts.filter(lambda text: "\0" not in text and not re.search("[\ud800-\udc7f\udd00-\udfff]", text)))
)
def test_a_word_for_the_shell_is_what_it_stands_for(words: list[str]) -> None:
    """Bash reads it back, byte for byte, and it is printable; so does every shell where nothing had to be escaped."""
    line = " ".join(map(shell_word, words))
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' x {line}"], capture_output=True, check=True)

    assert [os.fsdecode(word) for word in done.stdout.split(b"\0")[1:-1]] == words
    assert printable(line) == line
    if all(word.isascii() and printable(word) == word for word in words):
        assert shlex.split(line) == words


@pytest.mark.parametrize("name", HOSTILE)
def test_errors_say_their_message_in_one_line(name: str) -> None:
    """Raw in their arguments, escaped in messages; also from another process, and around a cause."""
    for error in (RecordError(f"{name} is bad"), SourceError(f"{name} is bad", name)):
        again = copy.copy(error)  # as pickle does it
        outer = BlockReadError(f"feed {name}: {again}")

        assert str(again) == str(error) == printable(f"{name} is bad")
        assert str(outer) == printable(f"feed {name}: {name} is bad")
    assert SourceError("x", name).path == name
    error.lines = (name, name)
    assert str(copy.copy(error)).splitlines()[1:] == [printable(name)] * 2


@given(texts)
def test_json_of_any_text_is_harmless_and_says_it(text: str) -> None:
    """Escapes are those of JSON, so a reader gets the original text."""
    import click

    @click.command()
    def show() -> None:
        print_json({"name": text})

    shown = CliRunner().invoke(show).stdout
    assert json.loads(shown) == {"name": text}
    for char in shown.strip():
        assert unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize("name", HOSTILE)
def test_tables_and_facts_take_names_for_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Markup and emoji codes are text too, in headings and in cells."""
    print_table([name, "other"], [[name, 1], ["x", name]])
    print_facts({name: name})
    shown = capsys.readouterr().out

    assert_harmless(shown)
    assert shown.count(printable(name)) == 5
