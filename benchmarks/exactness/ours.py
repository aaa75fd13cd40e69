"""The answers of blockread: a window through all steps, in blocks as small as the other readers' splits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset as ds

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.options import FileSource, GenerationOptions, ParquetSink, Policies, SparkJob, Splitting
from airflow_provider_blockread.steps import (
    Caller,
    Environment,
    PlanRequest,
    Published,
    Submitter,
    commit,
    plan,
    read,
    scan,
)
from airflow_provider_blockread.storage.stores import Stores
from benchmarks.exactness.answers import Answer
from benchmarks.exactness.case import Case
from benchmarks.exactness.worker import BLOCK, as_text

_OWNER = "exactness"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """An answer, and the number of blocks."""

    answer: Answer
    blocks: int = 0


def answer_ours(case: Case, source: Path, folder: Path, submitter: Submitter) -> Ours:
    """Return the published output of a window over the case's files; `folder` is empty, for the work."""
    ledger = Ledger(f"sqlite:///{folder / 'ledger.db'}")
    ledger.upgrade()
    try:
        published = _window(
            Environment(ledger=ledger, stores=Stores(), observer=Observer()), case, source, folder, submitter
        )
    except BlockReadError as error:
        return Ours(answer=Answer(error=f"{type(error).__name__}: {error}"))
    finally:
        ledger.close()
    table = ds.dataset(str(folder / "output"), format="parquet").to_table()
    names = [tuple(table.column_names)] if case.header else []
    columns = (map(as_text, column.to_pylist()) for column in table.columns)
    answer = Answer(rows=(*names, *zip(*columns, strict=True)), bad=published.bad_records)
    return Ours(answer=answer, blocks=published.blocks)


def _window(env: Environment, case: Case, source: Path, folder: Path, submitter: Submitter) -> Published:
    request = PlanRequest(
        feed="exactness",
        key="window",
        source=FileSource(str(source)),
        generation=GenerationOptions(
            sink=ParquetSink(str(folder / "output")),
            record_format=case.option,
            policies=Policies(on_bad_record="quarantine" if case.bad else "fail", proof="digest"),
        ),
        owner=_OWNER,
        splitting=Splitting(block_size=BLOCK, max_groups=1),
    )
    ref = plan(env, request)
    scan(env, ref, submitter=submitter)
    read(env, ref, 0, caller=Caller(owner=_OWNER), job=SparkJob(), submitter=submitter)
    return commit(env, ref, owner=_OWNER)
