"""The stores that tests start work, and are isolated."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.servers.processes import ROOT, answers, free_port, wait_until
from tests.servers.store import Store


def test_files_go_there_and_back(store: Store) -> None:
    """What is written to a new root is read back; the next root is empty."""
    root, other = store.new_root(), store.new_root()
    stores = store.stores(root)
    stores.write_bytes_atomic(f"{root}/in/a file.txt", b"one\ntwo\n")

    assert stores.read_bytes(f"{root}/in/a file.txt") == b"one\ntwo\n"
    assert [(uri.rpartition("/")[2], size) for uri, size in stores.list_names(f"{root}/in")] == [("a file.txt", 8)]
    assert list(store.stores(other).list_names(other)) == []


def test_names_are_listed_by_prefix(store: Store) -> None:
    """Files directly in a folder are, with their sizes; folders, what is in them, and other names are not."""
    root = store.new_root()
    stores = store.stores(root)
    for name in ("part-1", "part-22", "part-", "other", "part-dir/part-3", "part-dir/x", "Part-1"):
        stores.write_bytes_atomic(f"{root}/out/{name}", name.encode())

    found = sorted((uri.removeprefix(f"{root}/out/"), size) for uri, size in stores.list_names(f"{root}/out", "part-"))
    assert found == [("part-", 5), ("part-1", 6), ("part-22", 7)]
    assert list(stores.list_names(f"{root}/out", "absent")) == []
    assert list(stores.list_names(f"{root}/absent", "part-")) == []


def test_a_server_ends_with_whoever_started_it(tmp_path: Path) -> None:
    """When the process that started a server is killed, the server ends, too."""
    port = free_port()
    program = f"""
import time
from pathlib import Path
from tests.servers.processes import answers, running
with running({sys.executable!r}, "-m", "http.server", "--bind", "127.0.0.1", "{port}",
             log=Path({str(tmp_path)!r}) / "log", ready=answers({port})):
    print("ready", flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "ready\n"
        starter.kill()
    check = answers(port)

    wait_until(lambda: not check(), still=lambda: True, last_words=tmp_path / "log")
