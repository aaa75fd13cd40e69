"""What the options of a PostgreSQL table refuse."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import PostgresSink


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:word@host/db",
        "postgresql://me:word/word@host/db",
        "postgresql://host/db?user=me&password=word",
        "postgresql://host/db?sslpassword=word",
        "password=word host=db",
        "host=db password = word",
    ],
)
def test_a_password_is_no_option(url: str) -> None:
    """It would be in the ledger and in job files; the value is not shown."""
    with pytest.raises(OptionsError, match=r"holds a secret.*put it into an Airflow connection") as found:
        PostgresSink("public.events", work_uri="/work", url=url)

    assert "word" not in str(found.value).replace("password", "")


@pytest.mark.parametrize(
    ("uri", "options", "problem"),
    [
        ("events", {"work_uri": "/w"}, "must name a table with its schema"),
        ("a.b.c", {"work_uri": "/w"}, "must name a table with its schema"),
        ("public.events", {}, "work_uri must name a folder"),
        ("public.events", {"work_uri": "/w", "partition_by": ["day"]}, "declare partitions of the table in SQL"),
        ("public.events", {"work_uri": "/w", "sort_by": ["day"]}, "sort_by is for files that readers open; leave it"),
        ("public.events", {"work_uri": "/w", "codecs": {"a": "zstd"}}, "codecs is for files that readers open"),
        ("public.events", {"work_uri": "/w", "audit": ["_window"]}, "has the column _window; leave it out of audit"),
    ],
)
def test_what_a_table_needs(uri: str, options: dict[str, Any], problem: str) -> None:
    """A schema, and a folder where files are staged; its place is as Airflow's assets name it."""
    with pytest.raises(OptionsError, match=problem):
        PostgresSink(uri, **options)

    made = PostgresSink("public.events", url="postgresql://me@host/db", work_uri="/w")
    assert (made.place, made.work_area, made.folder) == ("postgres://host:5432/db/public/events", "/w", None)
