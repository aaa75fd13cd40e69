"""From rows to values: one function a value."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from airflow_provider_blockread.blocks import BlockGroup
from airflow_provider_blockread.ledger.model import Generation, Group, GroupRef, Window
from airflow_provider_blockread.ledger.schema.tables import feeds, windows
from airflow_provider_blockread.proof.model import Sums

#: What `window_from` needs, for a select that joins `feeds`.
WINDOW_COLUMNS = (*windows.c, feeds.c.name.label("feed"))


def window_from(row: Row[Any]) -> Window:
    """Return the window of a row with `WINDOW_COLUMNS`."""
    return Window(
        id=row.id,
        feed=row.feed,
        key=row.key,
        sequence=row.sequence,
        state=row.state,
        manifest_uri=row.manifest_uri,
        manifest_hash=row.manifest_hash,
        files=row.files,
        blocks=row.blocks,
        groups=row.groups,
        bytes=row.bytes,
        owner=row.owner,
        created_at=row.created_at,
        plan_hash=row.manifest_hash,
        heartbeat_at=row.heartbeat_at,
        pruned_at=row.pruned_at,
    )


def generation_from(row: Row[Any]) -> Generation:
    """Return the generation of a row of `generations`."""
    return Generation(
        window=row.window_id,
        number=row.number,
        state=row.state,
        mode=row.mode,
        options=row.options,
        options_digest=row.options_digest,
        clear_number=row.clear_number,
        run=row.run,
        publish_epoch=row.publish_epoch,
        publish_owner=row.publish_owner,
        publish_heartbeat_at=row.publish_heartbeat_at,
        sums=Sums(
            records=row.records,
            bad_records=row.bad_records,
            skipped_records=row.skipped_records,
            rows=row.rows,
            bytes=row.bytes,
            digest=row.digest,
        ),
        error=row.error,
        created_at=row.created_at,
        proven_at=row.proven_at,
        published_at=row.published_at,
        manifest_uri=row.manifest_uri,
        manifest_hash=row.manifest_hash,
    )


def group_from(row: Row[Any]) -> Group:
    """Return the group of a row of `groups`."""
    planned = BlockGroup(
        number=row.number,
        files=row.files,
        blocks=row.blocks,
        bytes=row.bytes,
        first_path=row.first_path,
        last_path=row.last_path,
    )
    return Group(
        ref=GroupRef(window=row.window_id, generation=row.generation, group=row.number),
        state=row.state,
        epoch=row.epoch,
        owner=row.owner,
        heartbeat_at=row.heartbeat_at,
        stale_after_s=row.stale_after_s,
        clear_number=row.clear_number,
        planned=planned,
        records=row.records,
        bad_records=row.bad_records,
        rows=row.rows,
        bytes=row.read_bytes,
        result_uri=row.result_uri,
        result_hash=row.result_hash,
        error=row.error,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )
