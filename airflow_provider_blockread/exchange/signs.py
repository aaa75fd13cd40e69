"""Small files by which Airflow's side and a driver on a cluster know of each other, in the folder of a job.

The driver keeps changing its sign of life, and ends when it finds a stop file. A stop is bound to the job specification
that was submitted, so one for another attempt is never mistaken for it.
"""

from __future__ import annotations

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.exchange.files import read_small
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.seals import sealed, unsealed
from airflow_provider_blockread.storage.stores import Stores

STOP_NAME = "stop.json"
SIGN_NAME = "alive.txt"
_NAME = "stop"


def write_stop(stores: Stores, submission: Submission, why: str) -> None:
    """Let the driver of a submission end, now or as soon as it starts."""
    data = sealed(_NAME, {"why": why}, secret=submission.secret, bound=submission.spec_hash)
    stores.write_bytes_atomic(f"{submission.folder}/{STOP_NAME}", data)


def read_stop(stores: Stores, submission: Submission) -> str | None:
    """Return why the driver of a submission must end; None while it must not."""
    data = _content(stores, f"{submission.folder}/{STOP_NAME}")
    fields = unsealed(_NAME, data, secret=submission.secret, bound=submission.spec_hash)
    return None if fields is None else str(fields.get("why"))


def write_sign(stores: Stores, submission: Submission, sign: str) -> None:
    """Leave a sign of life, in the place of the one before."""
    stores.write_bytes_atomic(f"{submission.folder}/{SIGN_NAME}", sign.encode())


def read_sign(stores: Stores, submission: Submission) -> str:
    """Return the newest sign of life; empty before the first one."""
    return _content(stores, f"{submission.folder}/{SIGN_NAME}").decode("utf-8", "replace")


def _content(stores: Stores, uri: str) -> bytes:
    """Return the content of a small file; nothing where something else is."""
    try:
        return read_small(stores, uri)
    except SourceError:
        if stores.holds_file(uri):
            raise
        return b""
