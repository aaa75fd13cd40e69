"""Published windows whose source is cleaned."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.steps.upkeep.cleaning import Cleaned, clean, propose_cleaning
from airflow_provider_blockread.steps.upkeep.cleaning_scope import CleanRequest
from tests.pipeline.make import Pipe, ReadHere

_DAY_S = 86_400.0


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    """A feed that has published `a.txt` and `sub/b.txt`, each in a group of its own, ten days ago."""
    pipe = Pipe(folder=tmp_path, submitter=ReadHere(), group_bytes=4)
    pipe.put({"a.txt": b"a1\na2\n", "sub/b.txt": b"b1\n"})
    pipe.run()
    pipe.pass_seconds(10 * _DAY_S)
    yield pipe
    pipe.close()


def request(pipe: Pipe, action: str = "archive", **options: Any) -> CleanRequest:
    """Return what is to be cleaned, by default into a folder beside the source."""
    if action == "archive":
        options.setdefault("archive", str(pipe.folder / "kept"))
    source = options.pop("source", FileSource(str(pipe.source)))
    return CleanRequest(**{"feed": pipe.feed, "source": source, "action": action, "grace": 7 * _DAY_S} | options)


def cleaned(pipe: Pipe, action: str = "archive", **options: Any) -> Cleaned:
    """Clean, after what is proposed was compared with it."""
    asked = request(pipe, action, **options)
    intent = propose_cleaning(pipe.env, asked)
    done = clean(pipe.env, asked, who="me")
    assert (intent.files, intent.bytes) == (
        done.files + done.left.get("changed", 0) + done.left.get("gone", 0),
        intent.bytes,
    )
    return done


def there(folder: Path) -> list[str]:
    """Return the files below a folder, in order."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
