"""A plan's groups hold what was chosen, to the file, block and byte; and block sizes that are chosen for each file."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.exchange.manifest import read_manifest, render_manifest
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import GenerationOptions, Limits, Selection, Splitting, WholeFile
from airflow_provider_blockread.steps import PlanRequest, plan
from airflow_provider_blockread.steps.describe import describe_block_size
from airflow_provider_blockread.steps.plan.discovering import discover
from airflow_provider_blockread.steps.plan.preview import preview
from airflow_provider_blockread.steps.plan.taking import Taken
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.make import Pipe, ReadHere

MIB = 2**20


def asked(pipe: Pipe, key: str = "w", **splitting: Any) -> PlanRequest:
    """Return a request with other splitting."""
    return replace(pipe.request(key), splitting=Splitting(**splitting))


def sparse(pipe: Pipe, sizes: dict[str, int]) -> None:
    """Let files of holes land."""
    for name, size in sizes.items():
        with (pipe.source / name).open("wb") as file:
            file.truncate(size)


@pytest.fixture
def chosen(here: Pipe) -> tuple[Taken, list[Block]]:
    """Files of no, one and many bytes over several groups, chosen and cut."""
    here.put({"a": b"", "b": b"b", "c": b"c" * 10, "d.gz": b"", "e": b"e" * 7, "f": b"f" * 4})
    request = asked(here, block_size=3, group_bytes=6)
    discover(here.env, request)
    found = Taken(here.env, request)
    return found, found.plan(list)


def test_the_sums_over_the_groups_are_those_of_the_files(chosen: tuple[Taken, list[Block]]) -> None:
    """A file that spans groups counts once, an empty one not at all, and a compressed one has a block at least."""
    found, blocks = chosen
    summary = render_manifest(blocks, identity={})[1]
    found.check(summary)

    assert (summary.files, summary.blocks, summary.bytes) == (5, 1 + 4 + 1 + 3 + 2, 22)
    assert len(summary.groups) > 2
    assert sum(group.files for group in summary.groups) > summary.files


@pytest.mark.parametrize("position", range(11))
@pytest.mark.parametrize("change", ["missing", "twice", "shorter", "longer"])
def test_every_block_that_is_not_what_was_chosen_is_refused(
    chosen: tuple[Taken, list[Block]], change: str, position: int
) -> None:
    """A block left out, cut twice, or cut at other bytes."""
    found, blocks = chosen
    block = blocks[position]
    put = {"missing": [], "twice": [block, block]}.get(
        change, [block._replace(end=block.end + (1 if change == "longer" else -1))]
    )
    mutated = [*blocks[:position], *put, *blocks[position + 1 :]]

    with pytest.raises(ProofError, match="was to hold 5 files of 11 blocks and 22 bytes, but its groups hold"):
        found.check(render_manifest(mutated, identity={})[1])


def test_a_file_that_takes_the_place_of_another_is_refused(chosen: tuple[Taken, list[Block]]) -> None:
    """Though blocks and bytes are as many."""
    found, blocks = chosen
    mutated = [block._replace(file=blocks[0].file) for block in blocks]

    with pytest.raises(ProofError, match="but its groups hold 1 files of 11 blocks and 22 bytes; nothing is planned"):
        found.check(render_manifest(mutated, identity={})[1])


@pytest.mark.slow
@pytest.mark.parametrize("passes", [1, 2])
def test_a_ledger_that_changes_in_mid_plan_never_makes_a_plan_of_two_states(tmp_path: Path, passes: int) -> None:
    """Whenever the size of a file changes under a plan, the plan is of one size, or none is frozen and it says why."""
    refused = number = 0
    while True:
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        pipe = Pipe(folder, ReadHere())
        try:
            harmed, error = _planned_while_it_changes(pipe, passes, at=number)
        finally:
            pipe.close()
        if not harmed:
            break
        refused += error is not None
    assert (number > 3, refused > 0) == (True, passes == 2)


class _Changing(Ledger):
    def __init__(self, pipe: Pipe, at: int) -> None:
        self.path, self.at, self.reads = pipe.folder / "ledger.db", at, 0
        super().__init__(f"sqlite:///{self.path}", now=lambda: pipe.time)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        self.reads += 1
        if self.reads == self.at:
            other = sqlite3.connect(self.path, timeout=60)
            with other:
                other.execute("UPDATE files SET size = 4 WHERE path LIKE '%/a'")
            other.close()
        with super().reading() as connection:
            yield connection


def _planned_while_it_changes(pipe: Pipe, passes: int, *, at: int) -> tuple[bool, ProofError | None]:
    """Plan while another process writes to the ledger before it is read for the n-th time."""
    pipe.put({"a": b"a" * 10, "b": b"b" * 10})
    request = replace(asked(pipe, group_bytes=1, max_groups=1 if passes == 2 else 99), files=())
    discover(pipe.env, pipe.request("w"))
    ledger = _Changing(pipe, at)
    env = replace(pipe.env, ledger=ledger)
    try:
        ref = plan(env, request)
    except ProofError as error:
        assert pipe.plan("other").files == 2
        return True, error
    finally:
        ledger.close()
    window = get_window(pipe.env.ledger, ref.window)
    blocks = list(read_manifest(pipe.env.stores, window.manifest_uri, window.manifest_hash))
    assert sum(block.end - block.start for block in blocks) == window.bytes
    return ledger.reads >= at, None


def test_chosen_block_sizes_are_frozen_and_restored(here: Pipe) -> None:
    """Each file has its own; a manifest that was lost is written again, the same to the byte."""
    sparse(here, {"small": MIB, "medium": 100 * MIB, "large": 3000 * MIB})
    request = asked(here, block_size="auto", max_readers=8)
    plan(here.env, request)
    window = get_window(here.env.ledger, "w")
    blocks = list(read_manifest(here.env.stores, window.manifest_uri, window.manifest_hash))
    sizes = {b.version.path.rpartition("/")[2]: (b.end - b.start) // MIB for b in blocks if b.start == 0}
    manifest = Path(window.manifest_uri.removeprefix("file://"))
    data = manifest.read_bytes()
    manifest.unlink()
    plan(here.env, request)

    assert sizes == {"small": 1, "medium": 16, "large": 256}
    assert manifest.read_bytes() == data


def test_a_plan_says_which_block_size_it_took_and_why(here: Pipe) -> None:
    """For each of the first files, and in sums; a compressed file has none."""
    sparse(here, {"a": MIB, "b": 2 * MIB, "c": 100 * MIB, "d.gz": 100 * MIB})
    shown = preview(here.env, asked(here, block_size="auto", max_readers=7))
    plain = preview(here.env, asked(here, block_size="1MiB"))
    whole = preview(here.env, replace(asked(here, block_size="auto"), generation=_whole(here)))

    assert [(f.path[-1], f.block_size and f.block_size.why) for f in shown.sample] == [
        ("a", "small"), ("b", "small"), ("c", "shared"), ("z", None),
    ]  # fmt: skip
    assert [(describe_block_size(size), files) for size, files in shown.block_sizes.items()] == [
        ("16 MiB, 1/4 of the store's 64 MiB: holds all of the file", 2),
        ("16 MiB, 1/4 of the store's 64 MiB: a share for each reader", 1),
    ]
    assert (plain.block_sizes, whole.block_sizes) == ({}, {})
    assert (shown.blocks, plain.blocks, whole.blocks) == (1 + 1 + 7 + 1, 1 + 2 + 100 + 1, 4)


def _whole(pipe: Pipe) -> GenerationOptions:
    return replace(pipe.request("w").generation, record_format=WholeFile())


def test_parts_of_a_large_file_end_at_blocks_of_its_own_size(here: Pipe) -> None:
    """Limits count the blocks that are cut, and the rest continues at the same size."""
    sparse(here, {"a": 100 * MIB})
    here.selection = Selection(limits=Limits(max_blocks=3))
    request = asked(here, block_size="auto", max_readers=7)
    refs = [plan(here.env, replace(request, key=key)) for key in ("1", "2", "3")]

    assert [(ref.blocks, ref.bytes // MIB) for ref in refs] == [(3, 48), (3, 48), (1, 4)]


class _WebHdfs(BaseHTTPRequestHandler):
    """As much of WebHDFS as a client asks about one file."""

    asked: list[str]

    def do_GET(self) -> None:
        """Answer a status."""
        self.asked.append(self.path)
        found = "gone" not in self.path
        status = {"length": 10, "type": "FILE", "blockSize": 32 * MIB, "modificationTime": 1, "pathSuffix": ""}
        gone = {"exception": "FileNotFoundException", "javaClassName": "x", "message": "gone"}
        body = json.dumps({"FileStatus": status} if found else {"RemoteException": gone}).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's
        """Say nothing."""


@pytest.fixture
def webhdfs() -> Iterator[tuple[str, list[str]]]:
    """A server's address, and what it was asked."""
    asked: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_WebHdfs,), {"asked": asked}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"webhdfs://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_a_store_with_blocks_of_its_own_is_asked_once(webhdfs: tuple[str, list[str]]) -> None:
    """About the first file that is there; one that is gone says nothing, and other stores are not asked."""
    root, asked = webhdfs
    block_of = Stores().block_size

    assert [block_of(f"{root}/{name}") // MIB for name in ("gone", "a", "b")] == [128, 32, 32]
    assert block_of("s3://bucket/a") // MIB == 64
    assert len(asked) == 2
