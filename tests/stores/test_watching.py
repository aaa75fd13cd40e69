"""The watch for secrets detects them."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.servers.processes import free_port, wait_until
from tests.servers.quiet import Quiet
from tests.servers.watching import watched


@pytest.mark.parametrize("place", ["command line", "environment", "Spark's page"])
def test_a_secret_that_shows_is_seen(tmp_path: Path, place: str) -> None:
    """In an argument of any process, in the environment of one of Spark's, or on a page."""
    (tmp_path / "environment").mkdir()
    (tmp_path / "environment" / "index.html").write_text("hush-hush" if place.startswith("Spark") else "nothing")
    argument = "hush-hush" if place == "command line" else "spark"
    variables = {"KEY": "hush-hush"} if place == "environment" else {}
    command = [sys.executable, "-c", "import time; time.sleep(600)", argument, "as spark does"]
    with (
        ThreadingHTTPServer(("127.0.0.1", free_port()), partial(Quiet, directory=str(tmp_path))) as server,
        subprocess.Popen(command, env=variables) as process,
    ):
        thread = Thread(target=server.serve_forever)
        thread.start()
        with watched(["hush-hush"], server.server_port, os.getpid()) as seen:
            wait_until(lambda: bool(seen.found), still=lambda: process.poll() is None, last_words=tmp_path)
        server.shutdown()
        thread.join()
        process.kill()

    assert [found.startswith(place) for found in seen.found] == [True]
