"""What the page of a file's bytes opens: the planned file, and nothing else that its place leads to."""

from __future__ import annotations

import dataclasses
import gzip
import html
import io
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_blockread.ledger.windows.queries import list_files
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.steps.plan.discovering import discover
from tests.pages.lake import Lake, filled_lake
from tests.servers.redirecting import serving

HIDDEN = "elsewhere, alone"


@pytest.fixture(scope="module")
def lake() -> Iterator[Lake]:
    """A published window, and a file that waits for one."""
    with tempfile.TemporaryDirectory(prefix="blockread-bytes-") as folder, filled_lake(Path(folder)) as made:
        made.pipe.put({"waits.csv": b"id,name,n\n1,x,2\n"})
        discover(made.pipe.env, made.pipe.request("next"))
        yield made


def exchanged(lake: Lake, name: str) -> None:
    """Put a link to a file elsewhere, of the same size and time, in the place of a file of the source."""
    path = lake.pipe.source / name
    found, elsewhere = path.stat(), lake.pipe.folder / f"elsewhere-{name}"
    elsewhere.write_bytes(HIDDEN.encode().ljust(found.st_size, b"."))
    os.utime(elsewhere, ns=(found.st_mtime_ns, found.st_mtime_ns))
    path.unlink()
    path.symlink_to(elsewhere)
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (found.st_size, found.st_mtime_ns)


@pytest.mark.parametrize("name", ["good.csv", "waits.csv"])
def test_a_link_exchanged_after_the_plan_shows_no_byte(lake: Lake, name: str) -> None:
    """Of a file that a window took, and of one that waits; though its target has the planned size and time."""
    page = f"{lake.file(name)}/records?at=0"
    assert "d,name,n" in lake.client.get(page).text

    exchanged(lake, name)
    text = lake.client.get(page).text
    assert "is reached by a link out of the source" in text
    assert HIDDEN[1:] not in text  # the first byte is marked


def _parquet(columns: dict[str, list[object]]) -> bytes:
    pq.write_table(pa.table(columns), held := io.BytesIO())
    return held.getvalue()


@pytest.mark.parametrize(
    "harmed",
    [
        lambda _: _parquet({"path": ["x"], "block": ["no number"]}),
        lambda _: _parquet({"bytes": [b"x"]}),
        lambda data: data[:-60] + b"\xff" * 40 + data[-20:],
    ],
    ids=["of another type", "missing", "damaged"],
)
def test_a_foreign_file_in_the_quarantine_is_no_fault_of_the_page(lake: Lake, harmed: Callable[[bytes], bytes]) -> None:
    """It says that the quarantine cannot be read, and shows the rest."""
    [kept] = lake.pipe.work.rglob("quarantine/**/*.parquet")
    before = kept.read_bytes()
    kept.write_bytes(harmed(before))
    page = lake.client.get(lake.file("&lt;.csv"))
    kept.write_bytes(before)

    assert page.status_code == 200
    assert "The quarantine cannot be read" in page.text


def test_redirects_are_followed_as_far_as_the_source_says(lake: Lake) -> None:
    """To the hosts that its option names, also for the page; to no other one."""
    with serving() as one, serving() as other:
        other.files = {"/a.csv": b"redirected\n"}
        one.moved = {"/a.csv": other.url("/a.csv", host="localhost")}
        asked = dataclasses.replace(lake.pipe.request("w"), feed="web", files=[one.url("/a.csv")])
        for hosts, shown in (["localhost"], "edirected"), ([], "redirects to another host"):
            source = FileSource(one.url("/"), redirect_hosts=hosts)
            discover(lake.pipe.env, dataclasses.replace(asked, source=source))
            [file] = list_files(lake.pipe.env.ledger, "web")
            assert shown in lake.client.get(f"/ledgers/main/files/{file.file}/records?at=0").text
            asked = dataclasses.replace(asked, files=[])


def test_bytes_of_a_compressed_file_are_counted_as_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bad record behind the stored size is the one that is marked; pages lead on to the end, and no further."""
    rows = [b"%d,x,%d" % (n, n) for n in range(3000)]
    rows[2500] = b"2500,x,bad"
    data = b"id,name,n\n" + b"\n".join(rows) + b"\n"
    at = data.index(rows[2500])
    with filled_lake(tmp_path) as lake:
        lake.pipe.with_policies(on_bad_record="quarantine")
        lake.pipe.put({"packed.csv.gz": gzip.compress(data)})
        lake.publish("packed")
        page = lake.file("packed.csv.gz")
        [link] = re.findall(rf'href="([^"]*/records\?at={at}[^"]*)"', lake.client.get(page).text)
        text = lake.client.get(html.unescape(link)).text
        starts, there = [], f"{page}/records?at=0"
        while there and len(starts) < 100:
            shown = lake.client.get(there).text
            starts += re.findall(r"in bytes ([\d,]+) to", shown)
            later = re.search(r'href="([^"]*)">Later', shown)
            there = html.unescape(later[1]) if later else ""

        assert (lake.pipe.source / "packed.csv.gz").stat().st_size < at
        assert "<mark>2500,x,bad</mark>" in text
        assert starts == [f"{start:,}" for start in range(0, len(data), 4096)]
        assert "The file holds no bytes here" in lake.client.get(f"{page}/records?at=9999999").text

        monkeypatch.setattr("airflow_provider_blockread.pages.views.file._MOST_DECODED", 9000)
        last, far = (lake.client.get(f"{page}/records?at={at}").text for at in (8900, 9001))
        assert "Later" not in last
        assert "A page decodes only the first 9,000 bytes of a compressed file." in far
