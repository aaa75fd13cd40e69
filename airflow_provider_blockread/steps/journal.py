"""The journal of what generations publish: it is written before the first step, carried out, read, and undone.

A generation publishes into two sinks, its output and the quarantine of its window. Options belong to generations, so
an earlier one may have published elsewhere: its files are removed from the sink into which they were published.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby

from airflow_provider_blockread.errors import BlockReadError, PermanentError, ProofError, WrongLedgerError, error_class
from airflow_provider_blockread.exchange.model import GroupResult, OutputFile
from airflow_provider_blockread.ledger.feeds import batched
from airflow_provider_blockread.ledger.model import Generation, JournalEntry, Publication, Window
from airflow_provider_blockread.ledger.windows.generations import list_generations
from airflow_provider_blockread.ledger.windows.journal import (
    confirm_entries,
    journal,
    journal_entries,
    journalled_outputs,
)
from airflow_provider_blockread.ledger.windows.publishing import check_publication
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.proof.model import PartBorders
from airflow_provider_blockread.sinks.protocol import (
    Applied,
    Change,
    Earlier,
    Marker,
    RecordSink,
    Refusing,
    State,
    Step,
)
from airflow_provider_blockread.sinks.registry import quarantine_of
from airflow_provider_blockread.steps.markers import marker_of
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.storage.at_once import answers

_BATCH_STEPS = 100  # between two checks of the epoch

#: The sinks into which generations have published, by place, with what they published there.
PublishedInto = dict[tuple[type, str], tuple[RecordSink, Earlier]]


class Journal:
    """What one generation publishes, into which sinks, and how far the publication is."""

    def __init__(self, env: Environment, window: Window, generation: Generation) -> None:
        self._env, self._window, self._generation = env, window, generation
        option = generation.as_options().sink
        self.quarantine = env.sink(quarantine_of(option, window.feed, window.id), "quarantine")
        self.output = env.sink(option)
        self._sinks = (self.quarantine, self.output)  # a table's commit comes last, when nothing else can fail
        self._files: dict[str, list[OutputFile]] | None = None  # as this journal has written them

    def files(self) -> dict[str, list[OutputFile]]:
        """Return the files of the generation as they are once published, by kind."""
        if self._files is None:
            return journalled_outputs(self._env.ledger, self._window.id, self._generation.number)
        return self._files

    def placed(self, result: GroupResult) -> GroupResult:
        """Return a result with the places that its files have once published."""
        outputs = tuple(map(self.output.placed, result.outputs))
        return replace(result, outputs=outputs, quarantined=tuple(map(self.quarantine.placed, result.quarantined)))

    def publish(
        self, publication: Publication, results: Sequence[GroupResult] | None, parts: Iterable[PartBorders]
    ) -> None:
        """Journal the files of the results, unless that was done, and take all steps that are not done.

        Without results, the files are those of the journal.

        Raises:
            FencedError: when another attempt has taken over.
            ConflictError: when the journal has other steps, or the preceding part of a file is not published.
            ProofError: when a step can no longer be taken.
        """
        env = self._env
        files = self._files_of(results)
        steps = self._steps(files)
        entries = [_entry(seq, step) for seq, (_, step) in enumerate(steps)]
        outputs = ((kind, file) for kind, of_kind in files.items() for file in of_kind)
        marker = marker_of(env, self._window, self._generation, Change.PUBLISH)  # with what was begun before this
        journal(env.ledger, publication, entries, outputs=outputs, parts=parts)
        self._files = {kind: list(of_kind) for kind, of_kind in files.items() if of_kind}
        still_mine = partial(check_publication, env.ledger, publication)
        self.output.apply((), marker, still_mine)  # even a window without rows has an output
        for _, of_sink in groupby(self._planned(), key=lambda seq: id(steps[seq][0])):
            for seqs in batched(of_sink, _BATCH_STEPS):
                sink = steps[seqs[0]][0]
                applied = sink.apply([steps[seq][1] for seq in seqs], marker, still_mine)
                confirm_entries(env.ledger, publication, seqs, made=_made(applied))
                if applied is not None and applied.schema_changes:
                    env.observer.log(f"{publication}: {sink.uri} has changed: {applied.schema_changes}")
        still_mine()
        earlier = self._earlier()
        for sink in self._sinks:
            _, before = earlier.get(_place(sink), (sink, Earlier()))
            for stray in sink.sweep(self._window.id, {file.uri for file in files[sink.kind]}, before.by_uri):
                env.observer.log(f"removed {stray}, which no published generation of window {self._window.id} names")

    def _files_of(self, results: Sequence[GroupResult] | None) -> dict[str, Sequence[OutputFile]]:
        if results is None:
            return {kind: self.files().get(kind, ()) for kind in ("quarantine", "output")}
        placed = [self.placed(result) for result in results]
        return {
            "quarantine": [file for result in placed for file in result.quarantined],
            "output": [file for result in placed for file in result.outputs],
        }

    def is_lost(self) -> bool:
        """Return whether a file that must still be published no longer exists, so that publishing cannot continue."""
        steps = self._steps(self.files())
        marker = marker_of(self._env, self._window, self._generation, Change.PUBLISH)
        todo = (steps[seq] for seq in self._planned())
        return any(step.action == "add" and sink.state(step, marker) is State.UNKNOWN for sink, step in todo)

    def hindrance(self, *, changed: bool = False) -> str:
        """Return why publishing cannot continue, so that another generation may start, or an empty text if it can.

        Args:
            changed: whether the options have changed since, so that their refusal may be over.
        """
        if self.is_lost():
            return "lost files before they were published"
        kind = error_class((self._generation.error or "").partition(":")[0])
        refused = issubclass(kind, ProofError) or (changed and issubclass(kind, PermanentError))
        return "was refused by its output" if refused and self._is_untouched() else ""

    def _is_untouched(self) -> bool:
        """Return whether nothing was added to the output yet."""
        marker, todo = marker_of(self._env, self._window, self._generation, Change.PUBLISH), set(self._planned())
        steps = enumerate(self._steps(self.files()))
        added = [(seq, step) for seq, (sink, step) in steps if sink is self.output and step.action == "add"]
        return all(seq in todo and self.output.state(step, marker) is not State.APPLIED for seq, step in added)

    def require_files(self) -> None:
        """Refuse a published generation whose files are not in their folder as it published them.

        A table is not checked: its upkeep may have moved the rows to other files.

        Raises:
            ProofError: when a file is missing, or has another size.
        """
        marker, files = marker_of(self._env, self._window, self._generation, Change.PUBLISH), self.files()
        steps = [(sink, step) for sink in self._sinks for step in sink.steps(files.get(sink.kind, ()), Earlier())]
        moves = [(sink, step) for sink, step in steps if step.kind == sink.kind and step.action == "add"]
        look = answers(self._env.stores, moves, lambda move: _lost(*move, marker), lambda move: move[1].target)
        if lost := list(filter(None, look)):
            msg = (
                f"feed {self._window.feed} window {self._window.id}: {lost[0]} is missing or of another size, as"
                f" {len(lost)} of the {plural(len(moves), 'file')} that generation {self._generation.number} published;"
                f" rebuild the window with `blockread windows rebuild {self._window.id}`"
            )
            raise ProofError(msg)

    def _planned(self) -> list[int]:
        entries = journal_entries(self._env.ledger, self._window.id, self._generation.number)
        return [entry.seq for entry in entries if entry.state == "planned"]

    def _steps(self, files: Mapping[str, Sequence[OutputFile]]) -> list[tuple[RecordSink, Step]]:
        """Return the steps in order, each with its sink; nothing is removed before everything is added."""
        earlier = self._earlier()
        steps: list[tuple[RecordSink, Step]] = []
        for sink in self._sinks:
            _, replaced = earlier.pop(_place(sink), (sink, Earlier()))
            steps += [(sink, step) for step in sink.steps(files.get(sink.kind, ()), replaced)]
        for sink, replaced in earlier.values():
            steps += [(sink, step) for step in sink.steps((), replaced)]
        return sorted(steps, key=lambda found: found[1].action == "remove")

    def _earlier(self) -> PublishedInto:
        every = list_generations(self._env.ledger, self._window.id)
        return published(self._env, self._window, (g for g in every if g.number < self._generation.number))


def published(env: Environment, window: Window, generations: Iterable[Generation]) -> PublishedInto:
    """Return the sinks into which generations have published, by place, with the files of each generation.

    Each sink is made from the option of the newest of these generations.
    """
    found: dict[tuple[type, str], tuple[RecordSink, dict[int, Sequence[OutputFile]]]] = {}
    shown: int | None = None
    for generation in generations:
        shown = generation.number if generation.published_at else shown
        of_generation = Journal(env, window, generation)
        files = of_generation.files()
        for sink in (of_generation.quarantine, of_generation.output) if files or generation.published_at else ():
            _, there = found.get(_place(sink), (sink, {}))
            found[_place(sink)] = (sink, {**there, generation.number: files.get(sink.kind, ())})
    return {place: (sink, Earlier(there, shown)) for place, (sink, there) in found.items()}


def undo_incomplete(env: Environment, window: Window) -> None:
    """Remove what lost generations have published; what was published before is complete, since removals come last.

    Halves that are older than the published generation were removed by that generation's own journal.
    """
    every = list_generations(env.ledger, window.id)
    shown = [found for found in every if found.state == "published"]
    halves = [found for found in every if found.state == "superseded" and found.number > sum(g.number for g in shown)]
    carried = {uri for _, files in published(env, window, shown if halves else ()).values() for uri in files.by_uri}
    for sink, of_halves in published(env, window, halves).values():
        files = of_halves.files.items()
        half = Earlier({number: [file for file in found if file.uri not in carried] for number, found in files})
        if half.by_uri:
            sink.undo(half, marker_of(env, window, halves[-1], Change.TAKE_BACK))


def require_removable(env: Environment, window: Window) -> None:
    """Refuse to remove a window's outputs where a sink tells now that it would refuse it.

    Raises:
        BlockReadError: of the sink.
        WrongLedgerError: when it holds a publication that the ledger lacks, even if the ledger knows of none.
    """
    every = list_generations(env.ledger, window.id)
    for sink, files in _places(env, window, every).values():
        if isinstance(sink, Refusing):
            with _lenient(files, BlockReadError):
                sink.check_undo(files, marker_of(env, window, every[-1], Change.WITHDRAW))


def remove_outputs(env: Environment, window: Window) -> int:
    """Remove all that the window's generations ever published, and return the number of files that were there.

    Outputs into which none has published, as far as the ledger knows, are swept.
    """
    every = list_generations(env.ledger, window.id)
    removed = 0
    for sink, files in _places(env, window, every).values():
        if files.files:
            removed += sink.undo(files, marker_of(env, window, every[-1], Change.WITHDRAW))
        with _lenient(files, PermanentError):
            swept = sink.sweep(window.id, (), files.by_uri)
            removed += len(swept) if files.files else 0
    return removed


@contextmanager
def _lenient(files: Earlier, errors: type[BlockReadError]) -> Iterator[None]:
    """Let a window go of which a sink holds nothing, whatever else is wrong with that sink."""
    try:
        yield
    except WrongLedgerError:
        raise
    except errors:
        if files.files:
            raise


def _places(env: Environment, window: Window, generations: Sequence[Generation]) -> PublishedInto:
    """Return `published` with the outputs into which nothing was published."""
    outputs = (Journal(env, window, found).output for found in generations)
    return {_place(sink): (sink, Earlier()) for sink in outputs} | published(env, window, generations)


def _lost(sink: RecordSink, step: Step, marker: Marker) -> str:
    """Return which file of a published step is not as it was published, the target or its index; empty if both are."""
    if sink.state(step, marker) is State.APPLIED:
        return ""
    if step.index is not None and sink.state(replace(step, index=None), marker) is State.APPLIED:
        return step.index.target
    return step.target


def _made(applied: Applied | None) -> dict[str, str]:
    """Return what the ledger records about a sink's change."""
    if applied is None:
        return {}
    made = {"table_version": applied.version, "schema_changes": applied.schema_changes}
    return {column: text for column, text in made.items() if text}


def _entry(seq: int, step: Step) -> JournalEntry:
    return JournalEntry(
        seq=seq, kind=step.kind, action=step.action, source=step.source, target=step.target, size=step.size
    )


def _place(sink: RecordSink) -> tuple[type, str]:
    return type(sink), sink.uri
