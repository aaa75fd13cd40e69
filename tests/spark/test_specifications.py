"""Job specifications: a read and a scan come back from their files as they were, and nothing else does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import ExchangeError
from airflow_provider_blockread.exchange.files import content_hash
from airflow_provider_blockread.exchange.model import FieldIds, JobSpec, ReadSpec, ScanSpec, Submission, Target
from airflow_provider_blockread.exchange.results import read_spec, write_spec
from airflow_provider_blockread.options import ArrowFunction, AsRead, Csv, GenerationOptions, Lines, ParquetSink
from airflow_provider_blockread.storage.stores import Stores

_TEXT, _NUMBER = st.text(max_size=9), st.integers(0, 2**40)
_COMMON: dict[str, Any] = {
    "window": _TEXT,
    "feed": _TEXT,
    "generation": _NUMBER,
    "manifest_uri": _TEXT,
    "manifest_hash": _TEXT,
    "options": st.builds(
        GenerationOptions,
        sink=st.just(ParquetSink("out")),
        record_format=st.sampled_from([Lines(), Csv(header=True)]),
        function=st.sampled_from([AsRead(), ArrowFunction("m:f", columns=("_file",))]),
    ),
    "excluded": st.lists(_NUMBER).map(tuple),
    "part_states": st.lists(st.tuples(_NUMBER, _NUMBER)).map(tuple),
    "folder": st.just(""),
}
_TARGETS = st.builds(
    Target,
    folder=_TEXT,
    columns=st.lists(_TEXT).map(tuple),
    field_ids=st.none() | st.builds(FieldIds, mapping=_TEXT, last=_NUMBER),
)
_SPECS = st.one_of(
    st.builds(
        ReadSpec, **_COMMON, group=_NUMBER, epoch=_NUMBER, mode=st.sampled_from(["write", "verify"]), target=_TARGETS
    ),
    st.builds(ScanSpec, **_COMMON, entry_states_uri=_TEXT, known_states_uri=_TEXT),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all examples: a specification replaces the one before."""
    return tmp_path_factory.mktemp("attempt")


@given(spec=_SPECS)
def test_a_specification_comes_back(spec: JobSpec, folder: Path) -> None:
    """With its kind, options and states."""
    placed = replace(spec, folder=f"file://{folder}")

    assert read_spec(Stores(), write_spec(Stores(), placed)) == placed


@given(spec=_SPECS, change=st.sampled_from(["other kind", "no kind", "field of the other", "field missing"]))
def test_anything_else_is_refused(spec: JobSpec, change: str, folder: Path) -> None:
    """Even under its own hash, a kind or a field that this version does not know makes it none."""
    submission = write_spec(Stores(), replace(spec, folder=f"file://{folder}"))
    file = folder / "job.json"
    fields = json.loads(file.read_bytes())
    if change == "other kind":
        fields["kind"] = "dance"
    elif change == "no kind":
        del fields["kind"]
    elif change == "field missing":
        del fields["window"]
    else:
        fields["kind"] = "scan" if fields["kind"] == "read" else "read"
    file.write_text(json.dumps(fields), "utf-8")
    changed = Submission(spec_uri=submission.spec_uri, spec_hash=content_hash(file.read_bytes()))

    with pytest.raises(ExchangeError, match="is not one of this version"):
        read_spec(Stores(), changed)
