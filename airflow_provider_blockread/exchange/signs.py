"""Small files in the folder of a job through which Airflow's side and a driver on a cluster communicate.

The driver keeps changing its sign of life, and ends when it finds a stop file. A stop file is bound to the job
specification that was submitted, so that a stop file for another attempt has no effect.
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
    """Make the driver of a submission end, now or as soon as it starts."""
    data = sealed(_NAME, {"why": why}, secret=submission.secret, bound=submission.spec_hash)
    stores.write_bytes_atomic(f"{submission.folder}/{STOP_NAME}", data)


def read_stop(stores: Stores, submission: Submission) -> str | None:
    """Return why the driver of a submission must end, or None while it may continue."""
    data = _content(stores, f"{submission.folder}/{STOP_NAME}")
    fields = unsealed(_NAME, data, secret=submission.secret, bound=submission.spec_hash)
    return None if fields is None else str(fields.get("why"))


def write_sign(stores: Stores, submission: Submission, sign: str) -> None:
    """Write a sign of life, replacing the previous one."""
    stores.write_bytes_atomic(f"{submission.folder}/{SIGN_NAME}", sign.encode())


def read_sign(stores: Stores, submission: Submission) -> str:
    """Return the newest sign of life, or an empty string before the first one."""
    return _content(stores, f"{submission.folder}/{SIGN_NAME}").decode("utf-8", "replace")


def _content(stores: Stores, uri: str) -> bytes:
    """Return the content of a small file, or no bytes if something else is there."""
    try:
        return read_small(stores, uri)
    except SourceError:
        if stores.holds_file(uri):
            raise
        return b""
