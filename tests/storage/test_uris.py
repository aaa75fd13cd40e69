"""Canonical URIs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from yarl import URL

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.storage.uris import canonical, child, local_path, name_of, parent, place_of, relative_to

SEGMENTS = st.lists(st.text("ab.%# é~", min_size=1, max_size=4), max_size=5).map("/".join)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("/data/logs/", "file:///data/logs"),
        ("//data//logs", "file:///data/logs"),
        ("file:///data/a b%20c", "file:///data/a b%20c"),
        ("local:///data/./x/../y", "file:///data/y"),
        ("/../etc", "file:///etc"),
        ("/", "file:///"),
        ("s3a://bucket/logs/", "s3://bucket/logs"),
        ("S3://bucket", "s3://bucket"),
        ("s3://bucket/a//b/../c", "s3://bucket/a//c"),
        ("s3://bucket/../../x", "s3://bucket/x"),
        ("abfss://box@account.dfs/x", "abfs://box@account.dfs/x"),
        ("sftp://user@host:22/x", "sftp://user@host:22/x"),
        ("http://host/b c/é.txt", "http://host/b%20c/%C3%A9.txt"),
        ("http://host/%62%20c/%c3%a9.txt", "http://host/b%20c/%C3%A9.txt"),
        ("https://host/50%/#a/100%25?x=%2f", "https://host/50%25/%23a/100%25?x=%2F"),
        ("https://host/in/%2e%2E/a%2Fb", "https://host/a%2Fb"),
        ("memory://a/b", "memory:///a/b"),
        ("memory:///a/b/", "memory:///a/b"),
        ("memory://", "memory:///"),
    ],
)
def test_one_place_has_one_uri(written: str, expected: str) -> None:
    """However a place is written, its canonical URI is the same text."""
    assert canonical(written) == expected


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("ssh://me@Host:22/in/X", "sftp://me@host/in/X"),
        ("sftp://host:2222/in", "sftp://host:2222/in"),
        ("sftp://[::1]:22", "sftp://[::1]"),
        ("http://HOST:80/In", "http://host/In"),
        ("https://host:80/in", "https://host:80/in"),
        ("abfs://box@a.blob.core.windows.net/in", "abfs://box@a.dfs.core.windows.net/in"),
        ("s3://Bucket/in", "s3://Bucket/in"),
        ("memory:///in", "memory:///in"),
    ],
)
def test_the_uris_of_one_place_are_known(written: str, place: str) -> None:
    """They stay as written, as they are in ledgers."""
    assert canonical(written) == written
    assert place_of(written) == place_of(place) == place


def test_a_relative_path_starts_where_the_program_runs() -> None:
    """A path without a scheme is local and relative to the working directory; `~` is the home."""
    assert canonical("logs/x") == f"file://{Path.cwd()}/logs/x"
    assert canonical("~/x") == f"file://{Path.home()}/x"


@given(SEGMENTS, st.sampled_from(["/", "file:///", "s3://bucket/", "memory://", "http://host/"]))
def test_a_canonical_uri_is_its_own(path: str, start: str) -> None:
    """Canonicalising twice changes nothing, and a URI is its folder joined with its name."""
    uri = canonical(start + path)

    assert canonical(uri) == uri
    if name_of(uri) and uri.count("/") > 3:
        assert child(parent(uri), name_of(uri)) == uri
        assert relative_to(uri, parent(uri)) == name_of(uri)


@pytest.mark.parametrize("written", ["", "  ", "a\0b", "file://relative/x"])
def test_text_that_names_no_place_is_refused(written: str) -> None:
    """Blank text, NUL bytes and `file://` URIs that are not absolute are errors."""
    with pytest.raises(OptionsError):
        canonical(written)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("simplecache::s3://b/in", "chain of URLs"),
        ("dir::file:///data", "chain of URLs"),
        ("zip://x::file:///a.zip", "unpack an archive"),
        ("s3:/b/in", "write s3:// with two slashes"),
    ],
)
def test_what_is_nearly_a_uri_is_no_local_path(written: str, says: str) -> None:
    """It is refused instead of read as a local path."""
    with pytest.raises(OptionsError, match=says):
        canonical(written)


def test_colons_are_no_chain_and_not_always_a_password() -> None:
    """Local names and keys contain them, and GitHub's URLs have a repository after one."""
    assert canonical("./s3:/b") == f"file://{Path.cwd()}/s3:/b"
    assert canonical("/a::b/c") == "file:///a::b/c"
    assert canonical("s3://b/a::b/c://d") == "s3://b/a::b/c://d"
    assert canonical("github://org:repo@v1/in/") == "github://org:repo@v1/in"


@pytest.mark.parametrize(
    "written",
    [
        "sftp://user:hunter2@host/x",
        "s3://key:hunter2/hunter2@bucket/x",
        "https://user:hunter2/hunter2@host/x",
        "hdfs://user:p/hunter2@host:8020/x",
        " s3://key:hunter2/hunter2@bucket/x",
        "s3://key:hunter2@bucket/x\0",
    ],
)
def test_a_password_is_refused_and_not_repeated(written: str) -> None:
    """A password in a URI is an error that does not quote it, whatever characters it has."""
    with pytest.raises(OptionsError) as caught:
        canonical(written)

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "written",
    [
        "sftp://host:22/in/a@b",
        "sftp://user@host:22/in/a@b",
        "sftp://[::1]:22/in/a@b",
        "https://host:8443/in/a@b",
        "s3://bucket/k:v@w",
        "s3://arn:aws:s3:eu-west-1:1:accesspoint/name/a@b",
        "abfs://box@account.dfs/a:b@c",
    ],
)
def test_a_port_or_a_colon_in_a_name_is_no_password(written: str) -> None:
    """Even if an @ follows later."""
    assert canonical(written) == written


@pytest.mark.parametrize(
    "written",
    [
        "https://hunter2@host/x",
        "http://host/x.csv?sig=hunter2",
        "http://host?sig=hunter2",
        "https://host/x.csv?a=1&X-Amz-Signature=hunter2&b=2",
        "https://host/x.csv?X-Goog-Signature=hunter2",
        "https://host/x.csv?access_token=hunter2",
        "https://host/x.csv?%74oken=hunter2",
        "https://host/x.csv?X-Amz-Security-Token=hunter2",
        "https://host/x.csv?api_key=hunter2",
        "https://host/x.csv?client_secret=hunter2",
        "https://host/x.csv?user=me&password=hunter2",
    ],
)
def test_a_secret_of_a_web_server_is_refused_and_not_repeated(written: str) -> None:
    """Tokens before the host, and those in a query; an object's name may look alike."""
    with pytest.raises(OptionsError, match="which manifests would store") as caught:
        canonical(written)

    assert "hunter2" not in str(caught.value)
    assert canonical("s3://b/x.csv?sig=1") == "s3://b/x.csv?sig=1"
    assert canonical("https://host/x.csv?page_token=1") == "https://host/x.csv?page_token=1"
    assert canonical("https://host/x.csv?design=1&sign=2") == "https://host/x.csv?design=1&sign=2"
    assert canonical("abfs://box@account.dfs/x") == "abfs://box@account.dfs/x"


def test_relative_to_ends_at_a_path_border() -> None:
    """`/data/logs2` does not are in `/data/logs`."""
    assert relative_to("file:///data/logs2", "file:///data/logs") is None
    assert relative_to("file:///data/logs", "file:///data/logs") == ""
    assert relative_to("file:///data", "file:///") == "data"
    assert local_path("file:///data") == "/data"
    assert local_path("s3://data") is None


shown = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6)  # clients drop line breaks


@given(st.lists(shown | st.integers(32, 126).map("%{:02x}".format), max_size=6).map("".join))
def test_a_path_of_a_web_server_is_spelled_as_its_client_does(name: str) -> None:
    """So that a root is the file that an index names; a slash, a query and a fragment begin something else."""
    assume(
        not set(name) & set("/?#\0")
        and name.strip(".")
        and not re.search("%(?![0-9a-fA-F]{2})|%2e", name, re.IGNORECASE)
    )

    assert canonical(f"http://host/in/{name}!") == f"http://host{URL(f'http://host/in/{name}!').raw_path}"


@given(st.lists(shown | st.integers(32, 126).map("%{:02x}".format), max_size=6).map("".join))
def test_a_query_is_asked_for_as_it_was_given(query: str) -> None:
    """Where `&` separates two parts and `%26` does not, they are two files; dots and slashes mean nothing there."""
    assume("#" not in query)
    for written in (f"http://host/in/get?{query}", f"http://host/in/?{query}", f"http://host?{query}"):
        assert URL(canonical(written)) == URL(written)
        assert canonical(canonical(written)) == canonical(written)
