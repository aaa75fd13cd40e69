"""The journal of a publication (outputs and steps, recorded before the first step) and the sums of its files.

Every function here checks the publication's epoch in the transaction in which it writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection, select

from airflow_provider_blockread.errors import ConflictError, StateError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.ledger.dialect import among, insert_many
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, batched
from airflow_provider_blockread.ledger.model import JournalEntry, Publication
from airflow_provider_blockread.ledger.schema.journal_tables import outputs as output_table
from airflow_provider_blockread.ledger.schema.journal_tables import publications
from airflow_provider_blockread.ledger.schema.rows import in_generation, row_from, value_from
from airflow_provider_blockread.ledger.schema.tables import file_sums
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import lock_generation
from airflow_provider_blockread.ledger.windows.parts import chain_parts
from airflow_provider_blockread.ledger.windows.publishing import WORKING, hold
from airflow_provider_blockread.proof.model import FileSums, PartBorders


def journal(
    ledger: Ledger,
    publication: Publication,
    entries: Sequence[JournalEntry],
    *,
    outputs: Iterable[tuple[str, OutputFile]] = (),
    parts: Iterable[PartBorders] = (),
) -> None:
    """Record what is published, and all steps, before the first step; recording the same again changes nothing.

    Args:
        ledger: the ledger to write.
        publication: the right to publish.
        entries: the steps, none of them done.
        outputs: pairs of a kind (output or quarantine) and a file as it is once published.
        parts: where, according to the proof, the parts of files that the window reads begin and end.

    Raises:
        FencedError: when a newer epoch or generation has taken over.
        ConflictError: when the generation is not proven, or has a journal with other steps; or when the part that
            precedes one of its own is not published.
        StateError: when the generation only verifies.
        ProofError: when a part does not connect to its neighbours.
    """
    place = {"window_id": publication.window, "generation": publication.generation}
    with ledger.writing() as connection:
        row = lock_generation(connection, publication.window, publication.generation)
        if row.state == "publishing":
            hold(connection, publication, ("publishing",), {"publish_heartbeat_at": ledger.now()})
            written = _entries(connection, publication.window, publication.generation)
            if [replace(entry, state="planned") for entry in written] != sorted(entries, key=lambda entry: entry.seq):
                msg = f"{publication}: its journal holds other steps; continue with those of journal_entries"
                raise ConflictError(msg)
            return
        if row.mode != "write":
            msg = f"{publication}: it only verifies, so it publishes nothing; finish it by finish_verification"
            raise StateError(msg)
        hold(connection, publication, ("proven",), {"state": "publishing", "publish_heartbeat_at": ledger.now()})
        chain_parts(connection, publication, parts)
        if entries:
            connection.execute(publications.insert(), [place | row_from(entry) for entry in entries])
        rows = [(*place.values(), seq, kind, *_output(file)) for seq, (kind, file) in enumerate(outputs)]
        insert_many(connection, output_table, output_table.columns.keys(), rows)


def journal_entries(ledger: Ledger, window_id: str, generation: int) -> list[JournalEntry]:
    """Return the journal's steps in order."""
    with ledger.reading() as connection:
        return _entries(connection, window_id, generation)


def journalled_outputs(ledger: Ledger, window_id: str, generation: int) -> dict[str, list[OutputFile]]:
    """Return the files of a generation as they are once published, by kind: output or quarantine."""
    query = select(output_table).where(in_generation(output_table, window_id, generation))
    found: dict[str, list[OutputFile]] = {}
    with ledger.reading() as connection:
        for row in connection.execute(query.order_by(output_table.c.seq)):
            found.setdefault(row.kind, []).append(value_from(OutputFile, row))
    return found


def confirm_entries(
    ledger: Ledger, publication: Publication, seqs: Sequence[int], *, made: Mapping[str, str] | None = None
) -> None:
    """Record that these steps are done, with the resulting columns about a table; may be repeated.

    Raises:
        FencedError: when a newer epoch or generation has taken over.
        ConflictError: when the journal has no such step.
    """
    with ledger.writing() as connection:
        hold(connection, publication, ("publishing",), {**(made or {}), "publish_heartbeat_at": ledger.now()})
        mine, confirmed = in_generation(publications, publication.window, publication.generation), 0
        for batch in batched(sorted(set(seqs)), BATCH_FILES):
            # With their range, for which there is an index whatever the database knows about these rows.
            these = (publications.c.seq.between(batch[0], batch[-1]), among(connection, publications.c.seq, batch))
            confirmed += connection.execute(publications.update().where(mine, *these).values(state="done")).rowcount
        if confirmed != len(set(seqs)):
            msg = f"{publication}: {len(set(seqs)) - confirmed} confirmed steps are not in its journal; read it again"
            raise ConflictError(msg)


def record_file_sums(ledger: Ledger, publication: Publication, sums: Iterable[FileSums]) -> None:
    """Record what was read from each file, after `drop_file_sums`; the sums are streamed.

    Raises:
        FencedError: when a newer epoch or generation has taken over.
    """
    place = (publication.window, publication.generation)
    for batch in batched(sums, BATCH_FILES):
        with ledger.writing() as connection:
            hold(connection, publication, WORKING, {"publish_heartbeat_at": ledger.now()})
            insert_many(connection, file_sums, file_sums.columns.keys(), [place + _sums(found) for found in batch])


def _output(file: OutputFile) -> tuple[str | int, ...]:
    """Return a file's values in the order of the columns, after those that name the generation and the kind."""
    return (
        file.uri,
        file.source,
        file.size,
        file.rows,
        json.dumps(dict(file.partition)),
        json.dumps(dict(file.statistics)),
    )


def _sums(found: FileSums) -> tuple[int | None, ...]:
    """Return the sums in the order of the columns, without those that name the generation."""
    ends = (None, None) if found.part is None else (found.part.next_start, found.part.exit_state)
    return found.file, found.records, found.bad_records, found.bytes, *ends


def _entries(connection: Connection, window_id: str, generation: int) -> list[JournalEntry]:
    query = select(publications).where(in_generation(publications, window_id, generation)).order_by(publications.c.seq)
    return [value_from(JournalEntry, row) for row in connection.execute(query)]
