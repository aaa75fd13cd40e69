"""The edge to the stores: their errors become this package's, once, with the place and what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from airflow_provider_blockread.errors import BlockReadError, FileMissingError, SourceError, TransientError
from airflow_provider_blockread.storage.faults import Fault, fault_of

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def translated(uri: str) -> Iterator[None]:
    """Turn what a store raises about `uri` into an error that names it, and says nothing that may be secret.

    Raises:
        FileMissingError: when nothing is there.
        SourceError: when access is denied, or it is a folder where a file is needed or the other way round.
        TransientError: for any other input or output error.
    """
    try:
        yield
    except BlockReadError:
        raise
    except Exception as error:
        found = as_error(uri, error)
        if found is None:
            raise
        raise found from quiet(error)


def quiet(error: Exception) -> Exception | None:
    """Return an error that may be shown as a cause; what a client says about its requests may hold secrets."""
    return error if fault_of(error) is None else None


def as_error(uri: str, error: Exception) -> BlockReadError | None:
    """Return the error of this package that says what an error of the system or of a store means, None for others."""
    fault = fault_of(error)
    if fault is not None and not _plainer(error, fault):
        return _of_client(uri, fault)
    if isinstance(error, OSError):
        return system_error(uri, error)
    if isinstance(error, (RuntimeError, ValueError)):  # what some file systems make of a refusal
        return _of_client(uri, Fault(kind="refused", word=type(error).__name__))
    return None


def _plainer(error: BaseException, fault: Fault) -> bool:
    """Tell whether the error's own type says more than the client's code below it."""
    return isinstance(error, (FileNotFoundError, PermissionError, FileExistsError)) and fault.kind in {
        "failed",
        "refused",
        "denied",
    }


def _of_client(uri: str, fault: Fault) -> BlockReadError:
    if fault.kind == "missing":
        return _missing(uri)
    if fault.kind == "denied":
        return _denied(uri, f" ({fault.word})")
    if fault.kind == "expired":
        return SourceError(
            f"{uri}: the credentials have expired or are not accepted ({fault.word}); renew them in the connection,"
            " then retry"
        )
    if fault.kind == "refused":
        return SourceError(
            f"{uri}: the store refuses this request ({fault.word}); correct the path or the connection, then retry"
        )
    if fault.kind == "throttled":
        return TransientError(f"{uri}: the store asks to slow down ({fault.word}); try again later, with less at once")
    return TransientError(f"{uri}: the store failed ({fault.word}); try again when it is back")


def system_error(uri: str, error: OSError) -> BlockReadError:
    """Return the error of this package that says what an error of the operating system means."""
    if isinstance(error, FileNotFoundError):
        return _missing(uri)
    if isinstance(error, PermissionError) or str(error).startswith("Forbidden"):  # as gcsfs says it
        return _denied(uri, "")
    if isinstance(error, FileExistsError):
        return SourceError(f"{uri} is a file where a folder is needed; correct the path, or move the file away")
    if isinstance(error, NotADirectoryError):
        return SourceError(f"{uri}: a part of this path is a file where a folder is needed; correct the path")
    if isinstance(error, IsADirectoryError):
        return SourceError(f"{uri} is a folder where a file is needed; correct the path")
    reason = error.strerror or type(error).__name__
    full = error.errno in _FULL
    what = (
        f"is full ({reason}); free space there, then retry" if full else f"failed ({reason}); try again when it is back"
    )
    return TransientError(f"{uri}: the store {what}")


def _missing(uri: str) -> BlockReadError:
    return FileMissingError(
        f"{uri} does not exist; restore it, or exclude it from its window (`blockread windows exclude`)"
    )


def _denied(uri: str, word: str) -> BlockReadError:
    renew = "; renew its key, signature or token if that has expired" if word else ""
    return SourceError(
        f"{uri}: access denied{word}; let the account that runs this (or its connection) in{renew}, then retry"
    )
