"""Places that a new window must not share: its output with its own source, its work area with another ledger."""

from __future__ import annotations

from datetime import timedelta

from airflow_provider_blockread.blocks.ids import slug
from airflow_provider_blockread.errors import OptionsError, WrongLedgerError
from airflow_provider_blockread.exchange.layout import attempt_folder, data_folder, staging_folder, window_folder
from airflow_provider_blockread.exchange.results import SPEC_NAME
from airflow_provider_blockread.options import FrameFunction, IcebergSink, Sink, nanoseconds
from airflow_provider_blockread.sinks.directory import Directory
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.registry import quarantine_of
from airflow_provider_blockread.steps.model import Environment, PlanRequest
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.listing.files import listed_as

_OWNER = "ledger"  # the file of a feed's work area that names its ledger
_METADATA = ("00001-0.metadata.json", "snap-1-0-0.avro", "0-m0.avro")  # names as pyiceberg gives them
_LONGEST = 100  # of its content
_TORN = timedelta(hours=1)  # after which a temporary file is no longer being written


def check_apart(request: PlanRequest, sink: Sink) -> None:
    """Refuse a source that would take what this feed writes as new input.

    Raises:
        OptionsError: naming the place and the source.
    """
    if request.files is not None:  # upstream says what to read
        return
    attempt = attempt_folder(window_folder(sink.work_area, request.feed, request.window), 1, 0, 1)
    name = AttemptName(window=request.window, generation=1, group=0, epoch=1, attempt=0)
    kept = quarantine_of(sink, request.feed, request.window)
    written = {
        "work area": (sink.work_area, f"{attempt}/{SPEC_NAME}"),
        "staging": (sink.work_area, name.uri(data_folder(attempt), 0, sink.suffix)),
        "quarantine": (sink.work_area, name.uri(kept.uri, 0, kept.suffix)),
    }
    if sink.folder is not None:
        written["output"] = (sink.folder, name.uri(f"{sink.folder.rstrip('/')}/{sink.inner_folder}", 0, sink.suffix))
    if isinstance(request.generation.function, FrameFunction):
        written["staged records"] = (sink.work_area, name.uri(staging_folder(attempt), 0, kept.suffix))
    for what, (place, example) in written.items():
        _refuse_listed(request, what, place, example)


def check_table_apart(env: Environment, request: PlanRequest, sink: Sink) -> None:
    """Refuse a source that would take what a commit to an Iceberg table writes, whose place only the catalog knows.

    Raises:
        OptionsError: naming the place and the source.
    """
    if request.files is not None or not isinstance(sink, IcebergSink):
        return
    folder = env.sink(sink).prepare(None, "").folder
    name = AttemptName(window=request.window, generation=1, group=0, epoch=1, attempt=0)
    _refuse_listed(request, "output", folder, name.uri(folder, 0, sink.suffix))
    metadata = uris.child(uris.parent(folder), "metadata")
    for written_as in _METADATA:
        _refuse_listed(request, "table's metadata", metadata, uris.child(metadata, written_as))


def _refuse_listed(request: PlanRequest, what: str, place: str, example: str) -> None:
    """Refuse a source that would list the URI of an example of what is written into a place."""
    if listed_as(request.source, example) is not None:
        msg = (
            f"feed {request.feed}: the {what} {place} is in the source, whose pattern would list files as"
            f" {uris.name_of(example)} there: published records would be read again; choose another place"
            " for the output, or a pattern that leaves it out"
        )
        raise OptionsError(msg)


def check_place(env: Environment, sink: Sink) -> None:
    """Refuse a directory into which staged files cannot be moved, or with foreign files.

    A window that is already there may be rebuilt in another form.

    Raises:
        OptionsError: naming the work area, or a file in the directory.
    """
    made = env.sink(sink)
    if not isinstance(made, Directory):
        return
    if not env.stores.are_one(made.uri, sink.work_area):
        msg = (
            f"{sink.kind}: work_uri {sink.work_area} is in another store than the output {made.uri}, so files cannot"
            " be moved from one to the other; choose a place beside the output"
        )
        raise OptionsError(msg)
    made.refuse_others()


def check_ledger(env: Environment, feed: str, sink: Sink) -> None:
    """Refuse to publish beside files of the same feed from another ledger; record which ledger owns the work area.

    Two ledgers give the same feed's windows the same names, and do not know what the other one has read.

    Raises:
        WrongLedgerError: naming both ledgers.
    """
    uri, mine = f"{sink.work_area}/{slug(feed)}/{_OWNER}", env.ledger.uuid
    other = env.stores.read_head(uri, _LONGEST).decode("utf-8", "replace") if env.stores.exists(uri) else mine
    if other != mine and not env.sink(sink).is_empty():
        msg = (
            f"feed {feed}: {sink.place} holds files that ledger {other!r} published, but this is ledger {mine}"
            f" ({env.ledger.name}), which does not know them: use that ledger, another output or feed name, or"
            " remove the output if its ledger is gone"
        )
        raise WrongLedgerError(msg)
    if other != mine or not env.stores.exists(uri):
        env.stores.write_bytes_atomic(uri, mine.encode())


def drop_torn_marks(env: Environment, folder: str) -> None:
    """Remove temporary files of processes that died while recording a feed's ledger in its folder of the work area."""
    bound = nanoseconds(env.ledger.now() - _TORN)
    for uri, _ in list(env.stores.list_names(folder, f".{_OWNER}.")):
        if env.stores.stat(uri).mtime_ns < bound:
            env.stores.remove(uri)
