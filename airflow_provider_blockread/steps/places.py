"""Places that a new window must not share: its output with its own source, its work area with another ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from airflow_provider_blockread.blocks.ids import slug
from airflow_provider_blockread.errors import OptionsError, WrongLedgerError
from airflow_provider_blockread.exchange.layout import (
    attempt_folder,
    data_folder,
    published_quarantine,
    window_folder,
)
from airflow_provider_blockread.exchange.model import GroupResult, OutputFile
from airflow_provider_blockread.exchange.results import SPEC_NAME
from airflow_provider_blockread.options import ParquetSink, nanoseconds
from airflow_provider_blockread.sinks.names import FILE_PREFIX, StagedName
from airflow_provider_blockread.sinks.publish import target_uri
from airflow_provider_blockread.steps.model import Environment, PlanRequest
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.listing.files import takes

_OWNER = "ledger"  # the file of a feed's work area that names its ledger
_TORN = timedelta(hours=1)  # by then nobody is still writing it


def check_apart(request: PlanRequest, sink: ParquetSink, window: str) -> None:
    """Refuse a source that would take what this feed writes as its next input.

    Raises:
        OptionsError: naming the place and the source.
    """
    if request.files is not None:  # upstream says what to read
        return
    attempt = attempt_folder(window_folder(sink.work_area, request.feed, window), 1, 0, 1)
    staged = StagedName(folder=data_folder(attempt), window=window, generation=1, group=0, epoch=1, attempt=0).uri(0)
    written = {
        "output": (sink.uri, uris.child(sink.uri, uris.name_of(staged))),
        "work area": (sink.work_area, f"{attempt}/{SPEC_NAME}"),
        "staging": (sink.work_area, staged),
        "quarantine": (
            sink.work_area,
            uris.child(published_quarantine(sink.work_area, request.feed, window), uris.name_of(staged)),
        ),
    }
    for what, (place, example) in written.items():
        if takes(request.source, example):
            msg = (
                f"feed {request.feed}: the {what} {place} is in the source, whose pattern takes files as"
                f" {uris.name_of(example)} there: published records would be read again; choose another place"
                " for the output, or a pattern that leaves it out"
            )
            raise OptionsError(msg)


def check_ledger(env: Environment, feed: str, sink: ParquetSink) -> None:
    """Refuse to publish beside files of the same feed that another ledger published; note whose the work area is.

    Two ledgers give the same feed's windows the same names, and neither knows what the other has read.

    Raises:
        WrongLedgerError: naming both ledgers.
    """
    uri, mine = f"{sink.work_area}/{slug(feed)}/{_OWNER}", env.ledger.uuid
    other = env.stores.read_bytes(uri)[:100].decode("utf-8", "replace") if env.stores.exists(uri) else mine
    if other != mine and next(env.stores.list_names(sink.uri, FILE_PREFIX), None) is not None:
        msg = (
            f"feed {feed}: {sink.uri} holds files that ledger {other!r} published, but this is ledger {mine}"
            f" ({env.ledger.name}), which does not know them: use that ledger, another output or feed name, or"
            " remove the output if its ledger is gone"
        )
        raise WrongLedgerError(msg)
    if other != mine or not env.stores.exists(uri):
        env.stores.write_bytes_atomic(uri, mine.encode())


def drop_torn_marks(env: Environment, folder: str) -> None:
    """Remove what processes that died while they noted a feed's ledger have left in its folder of the work area."""
    bound = nanoseconds(env.ledger.now() - _TORN)
    for uri, _ in list(env.stores.list_names(folder, f".{_OWNER}.")):
        if env.stores.stat(uri).mtime_ns < bound:
            env.stores.remove(uri)


def as_published(result: GroupResult, output: str, quarantine: str) -> GroupResult:
    """Return a result with its files where they are once they are published: in these folders."""

    def moved(files: tuple[OutputFile, ...], folder: str) -> tuple[OutputFile, ...]:
        return tuple(replace(file, uri=target_uri(folder, file.uri)) for file in files)

    return replace(result, outputs=moved(result.outputs, output), quarantined=moved(result.quarantined, quarantine))
