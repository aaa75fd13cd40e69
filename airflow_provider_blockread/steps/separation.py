"""Places not to share: a window's output with its source, with windows that its ledger lacks, or with an archive."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from airflow_provider_blockread.blocks.ids import slug
from airflow_provider_blockread.errors import FileMissingError, OptionsError, WrongLedgerError
from airflow_provider_blockread.exchange.layout import attempt_folder, data_folder, staging_folder, window_folder
from airflow_provider_blockread.exchange.results import SPEC_NAME
from airflow_provider_blockread.ledger.files.known import leave_out
from airflow_provider_blockread.ledger.model import Generation
from airflow_provider_blockread.ledger.noop import forgets
from airflow_provider_blockread.ledger.overview.feed_options import newest_options, options_beside, published_options
from airflow_provider_blockread.ledger.windows.queries import newest_sequence, window_ids
from airflow_provider_blockread.options import FrameFunction, GenerationOptions, IcebergSink, Sink, nanoseconds
from airflow_provider_blockread.options.parsing.sizes import first_of
from airflow_provider_blockread.sinks.directory import Directory
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.registry import quarantine_of
from airflow_provider_blockread.steps.model import Environment, PlanRequest
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.listing.files import listed_as

_OWNER = "ledger"  # the file of a feed's work area that names its ledger, and the number of the newest window
_METADATA = ("00001-0.metadata.json", "snap-1-0-0.avro", "0-m0.avro")  # names as pyiceberg gives them
_LONGEST = 100  # of its content
_SHOWN = 3  # windows that an error names
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


def check_read_once(env: Environment, request: PlanRequest, sink: Sink) -> None:
    """Refuse to publish files beside what another feed publishes of them, unless this feed's name was chosen.

    A renamed DAG or group has another feed by default, which knows nothing of what the one before has read. So that
    nothing waits for a feed which may never be planned, its files are left out.

    Raises:
        OptionsError: naming both feeds.
    """
    if request.names_feed:
        return
    for other, options in options_beside(env.ledger, request.feed):
        if GenerationOptions.from_json(options).sink.place == sink.place:
            leave_out(env.ledger, request.feed)
            msg = (
                f"feed {request.feed}: feed {other!r} has taken some of these files, and publishes them in {sink.place}"
                f" too; name the feed (feed=..., --name): {other!r} to go on with it in another DAG, group or source,"
                f" or {request.feed!r} to publish their records twice there"
            )
            raise OptionsError(msg)


def check_archive_apart(env: Environment, archive: str) -> None:
    """Refuse an archive of source files where readers of a feed's output would find them.

    Raises:
        OptionsError: naming the archive and the output.
    """
    folders = (GenerationOptions.from_json(options).sink.folder for options in newest_options(env.ledger))
    for output in map(env.stores.canonical, filter(None, folders)):
        below = uris.relative_to(archive, output)
        if below is not None and not any(name.startswith(("_", ".")) for name in below.split("/")):
            msg = (
                f"clean: the archive {archive} is in the output {output} of a feed, where readers would find its files;"
                " choose a folder outside of it, or one whose name begins with `_`"
            )
            raise OptionsError(msg)


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
    """Refuse to publish beside files of the same feed that another ledger published, or that this one has forgotten.

    Two ledgers give the same feed's windows the same names, and do not know what the other one has read. A ledger that
    was restored from a backup does not know what was read since.

    Raises:
        WrongLedgerError: naming both ledgers, or the windows.
    """
    mine = env.ledger.uuid
    try:
        other, number = _recorded(env, feed, sink)
    except FileMissingError:
        _warn_of_gone(env, feed, sink)
        return
    if other == mine:
        _check_whole(env, feed, sink, number)
        return
    if env.sink(sink).is_empty():
        return
    msg = (
        f"feed {feed}: {sink.place} holds files that ledger {other!r} published, but this is ledger {mine}"
        f" ({env.ledger.name}), which does not know them: use that ledger, another output or feed name, or"
        " remove the output if its ledger is gone"
    )
    raise WrongLedgerError(msg)


def check_whole(env: Environment, feed: str, generation: Generation) -> None:
    """Refuse to publish a generation where its ledger has forgotten later windows, which may have read the same files.

    What else the ledger has forgotten is not known: this window may have been given up, and its files taken by others.

    Raises:
        WrongLedgerError: naming the windows that it lacks.
    """
    if generation.mode == "verify" or generation.state == "published":
        return
    sink = generation.as_options().sink
    with suppress(FileMissingError):
        other, number = _recorded(env, feed, sink)
        if other == env.ledger.uuid:
            _check_whole(env, feed, sink, number)


def _check_whole(env: Environment, feed: str, sink: Sink, number: int) -> None:
    """Refuse a ledger whose newest window has a lower number than the one that it recorded in the work area."""
    if number <= newest_sequence(env.ledger, feed) or env.sink(sink).is_empty():
        return
    uri = _owner_uri(feed, sink)
    there = set(map(uris.name_of, env.stores.list_folders(uris.parent(uri))))
    lost = first_of(sorted(there - window_ids(env.ledger, feed)), _SHOWN)
    msg = (
        f"feed {feed}: ledger {env.ledger.uuid} ({env.ledger.name}) lacks windows that it has planned ({lost}), so it"
        f" was restored from a backup, and would read their files again beside what {sink.place} holds of them: restore"
        f" a newer backup; or remove what they have published, then {uri}, and retry"
    )
    raise WrongLedgerError(msg)


def _recorded(env: Environment, feed: str, sink: Sink) -> tuple[str, int]:
    """Return which ledger plans a feed's windows, and the number of the newest, as its work area has it."""
    text = env.stores.read_head(_owner_uri(feed, sink), _LONGEST).decode("utf-8", "replace")
    ledger, _, number = text.partition(" ")
    return ledger, int(number) if number.isdecimal() else 0


def _warn_of_gone(env: Environment, feed: str, sink: Sink) -> None:
    """Warn of an output where a feed has published, if nothing is there or in its work area any more."""
    options = published_options(env.ledger, feed)
    if options is None or GenerationOptions.from_json(options).sink.place != sink.place:
        return
    if env.sink(sink).is_empty():
        env.observer.warn(
            f"feed {feed}: nothing is in {sink.place}, where it has published records, nor in its work area; if they"
            " were moved, or their disk is not mounted, end the run, and clear it from its plan on once they are back"
        )


def record_ledger(env: Environment, feed: str, sink: Sink) -> None:
    """Record in a feed's work area which ledger plans its windows, and the number of the newest."""
    number = 0 if forgets(env.ledger) else newest_sequence(env.ledger, feed)
    env.stores.write_bytes_atomic(_owner_uri(feed, sink), f"{env.ledger.uuid} {number}".encode())


def _owner_uri(feed: str, sink: Sink) -> str:
    return f"{sink.work_area}/{slug(feed)}/{_OWNER}"


def drop_torn_marks(env: Environment, folder: str) -> None:
    """Remove temporary files of processes that died while recording a feed's ledger in its folder of the work area."""
    bound = nanoseconds(env.ledger.now() - _TORN)
    for uri, _ in list(env.stores.list_names(folder, f".{_OWNER}.")):
        if env.stores.stat(uri).mtime_ns < bound:
            env.stores.remove(uri)
