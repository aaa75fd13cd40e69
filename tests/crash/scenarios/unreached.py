"""Fault points that no scenario reaches, and why nothing can be lost there."""

from __future__ import annotations

_LEARNT = "drops what the next listing records again, in very large feeds"
_TOLD = "only counts for a message"
_WORDS = "only reads for an error message"
_SHOWN = "only looked at; another one is left in seconds"
_WATCHED = "only reads for a watch, which resumes from its mark"
_CHANGING = "only where a file changes while it is archived; it stays in one of the two places"
_WHY = "only says why a scan failed; the next one begins without that"
_REST = "only files that no commit names; the table's owner expires them, as all that are replaced"
_ANNOUNCED = "only tasks of Airflow announce; one that dies here is tried again, and announces again"
_PRUNED = "only for a file of a pruned window, in the transaction that excludes it"
_COPIED = "only while a new ledger is filled, in one transaction"
_TAGS = "tags of S3; setting the same ones twice changes nothing"
_REFUSED = "a plan that is refused again leaves the files out again"
_RECOUNTED = "another try finds the higher numbers again, and lowers them then"

#: The reasons, by the fault point's name.
UNREACHED = {
    "commit:ledger.upkeep.copying.copy_ledger/1": _COPIED,
    **{f"statement:ledger.upkeep.copying.{name}/{n}": _COPIED for name in ("copy_ledger", "_copy") for n in (1, 2)},
    **{
        f"statement:ledger.dialect.{one}/1": _COPIED for one in ("freeze", "last_id", "renew_statistics", "set_last_id")
    },
    "commit:ledger.windows.publishing.mark_announced/1": _ANNOUNCED,
    "statement:ledger.windows.publishing.mark_announced/1": _ANNOUNCED,
    **{f"{kind}:ledger.windows.generations.recount_clears/1": _RECOUNTED for kind in ("commit", "statement")},
    **{f"{kind}:ledger.files.known.leave_out/1": _REFUSED for kind in ("commit", "statement")},
    "commit:ledger.windows.publishing.let_go/1": "only saves the next owner from waiting for a stale heartbeat",
    "commit:ledger.upkeep.retention.drop_stretches/1": _LEARNT,
    "statement:ledger.upkeep.retention.drop_stretches/2": _LEARNT,
    "statement:ledger.upkeep.retention.drop_stretches/3": _LEARNT,
    "statement:ledger.dialect._configure_postgres/1": "a setting of a connection; nothing is stored",
    "statement:ledger.dialect._configure_sqlite/1": "settings of a connection; nothing is stored",
    "commit:ledger.windows.scans.fail_scan/1": _WHY,
    "statement:ledger.windows.scans.fail_scan/1": _WHY,
    "statement:ledger.windows.exclusions._file/2": _WORDS,
    "statement:ledger.windows.exclusions._file/3": _WORDS,
    "statement:ledger.feeds.require_feed/1": _WORDS,
    "statement:ledger.windows.generations.newest_row/2": _WORDS,
    "statement:ledger.windows.groups._overtaken/1": _WORDS,
    "statement:ledger.windows.parts.giving_up_command/1": _WORDS,
    "statement:ledger.windows.parts.giving_up_parts/1": _WORDS,
    "statement:ledger.files.unread.newest_file/1": _WATCHED,
    "statement:ledger.files.unread.newest_pending/1": _WATCHED,
    "statement:ledger.files.unread.pending_since/1": _WATCHED,
    "statement:ledger.windows.planning.Planner.update/2": _WORDS,
    "statement:ledger.windows.replacing.insert_pruned/1": _PRUNED,
    "statement:ledger.windows.replacing.insert_pruned/2": _PRUNED,
    "statement:ledger.windows.replacing._refuse_taken/1": _WORDS,
    "statement:ledger.windows.replacing._refuse_taken/2": _WORDS,
    "store:steps.plan.cleaned._put_back/2": "only where a store makes every copy another version; the archive stays",
    "store:steps.upkeep.cleaning_files._leave/2": _CHANGING,
    "store:steps.upkeep.cleaning_files._leave/3": _CHANGING,
    "store:steps.upkeep.cleaning_files._leave/4": _CHANGING,
    "statement:ledger.files.cleaned.refuse_cleaned/1": _WORDS,
    "statement:ledger.upkeep.requests.was_requested/1": "reads what a page handed over to a run of Airflow",
    "statement:ledger.upkeep.withdrawing._known_files/1": "only reads, before a window that was read again is undone",
    "statement:ledger.upkeep.retention.prunable/1": _TOLD,
    "statement:ledger.upkeep.retention.prunable/2": _TOLD,
    "statement:ledger.windows.selection.late_files/1": _TOLD,
    "statement:ledger.windows.selection._late/1": _TOLD,
    "statement:ledger.windows.selection._counted_once/1": _TOLD,
    "store:steps.upkeep.cleaning_files.tag_file/1": _TAGS,
    "store:exchange.progress.TaskProgress.add/1": _SHOWN,
    "store:exchange.progress.TaskProgress.remove/1": _SHOWN,
    "store:exchange.progress.write_progress/1": _SHOWN,
    "store:exchange.signs.write_sign/1": "only looked at; the driver leaves another one in seconds",
    "store:exchange.signs.write_stop/1": "a driver that does not find it is fenced all the same",
    "store:sinks.log.entries.PublishedLog.add_columns/2": "only where two publishers add columns at the same moment",
    "store:sinks.tables.delta.rows.RowDeletion.discard/1": _REST,
    "store:spark.frames.staging.removed_afterwards/1": "removes what nothing reads any more; else a prune removes it",
    "store:steps.read.deferring.DeferredScan._submit/1": "removes states nothing vouches for; they are found again",
    "store:steps.separation.drop_torn_marks/1": "only what a process that died has left; another prune removes it",
}
