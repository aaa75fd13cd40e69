"""The layout of the work area.

<work area>/<feed>/ledger                                    the UUID of the ledger of these windows, and how many it
                                                             has planned
<work area>/<feed>/<window>/manifest-<hash>.parquet          what is read
                           /states-<digest>.json             entry states of files that span groups, by format
                           /states-<digest>/e<epoch>/        one try to find them: job.json, and what it leaves
                           /states-<digest>-g<group>.json    entry states of the other files of a group; both have
                                                             one more digest where parts of files are entered
                           /schema-<digest>.json             columns inferred for csv without a schema
                           /g<generation>/<group>-e<epoch>/  one attempt: job.json, result.json, receipts.parquet,
                                                             progress.json;
                                                             of a driver on a cluster also alive.txt, stop.json
                                          /progress/        what its tasks have read so far, while they are at work
                                          /data/             its data files, until they are published
                                          /quarantine/       its bad records, until they are published
                                          /records/          what a DataFrame function gets, while it runs
<work area>/quarantine/<feed>/<window>/                      bad records of the published generation
"""

from __future__ import annotations

from airflow_provider_blockread.blocks.ids import slug


def window_folder(work_area: str, feed: str, window: str) -> str:
    """Return the folder of a window."""
    return f"{work_area.rstrip('/')}/{slug(feed)}/{window}"


def attempt_folder(window_folder_uri: str, generation: int, group: int, epoch: int) -> str:
    """Return the folder of one attempt at a group."""
    return f"{window_folder_uri}/g{generation}/{group:05d}-e{epoch}"


def application_name(window: str, generation: int, group: int, epoch: int) -> str:
    """Return the name of the application of one attempt at a group."""
    return f"blockread-{window}-g{generation}-{group}-e{epoch}"


def scan_name(window: str, epoch: int) -> str:
    """Return the name of the application of one try to scan a window."""
    return f"blockread-{window}-scan-e{epoch}"


def scan_folder(states_uri: str, epoch: int) -> str:
    """Return the folder of one try to find the states in this file."""
    return f"{states_uri.removesuffix('.json')}/e{epoch}"


def name_before(name: str) -> str | None:
    """Return the name of the previous attempt's or try's application, or None if there was none."""
    group, mark, epoch = name.rpartition("-e")
    return f"{group}{mark}{int(epoch) - 1}" if epoch.isdecimal() and int(epoch) > 1 else None


def data_folder(attempt_uri: str) -> str:
    """Return the folder where an attempt stages its data files."""
    return f"{attempt_uri}/data"


def staging_folder(attempt_uri: str) -> str:
    """Return the folder where an attempt stages the records that a DataFrame function gets."""
    return f"{attempt_uri}/records"


def quarantine_folder(attempt_uri: str) -> str:
    """Return the folder where an attempt stages the bytes of bad records."""
    return f"{attempt_uri}/quarantine"


def published_quarantine(work_area: str, feed: str, window: str) -> str:
    """Return the folder of the bad records of a window's published generation; it is never inside the output."""
    return f"{work_area.rstrip('/')}/quarantine/{slug(feed)}/{window}"
