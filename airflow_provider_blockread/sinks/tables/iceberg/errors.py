"""What an error of a catalog, or of the store that it names, means for the task that got it."""

from __future__ import annotations

from pyiceberg import exceptions

from airflow_provider_blockread.errors import BlockReadError, OptionsError, TransientError
from airflow_provider_blockread.storage.backends.shared.errors import fault_of

_REFUSALS = (
    exceptions.BadRequestError,
    exceptions.ForbiddenError,
    exceptions.NotInstalledError,
    exceptions.OAuthError,
    exceptions.SignError,
    exceptions.UnauthorizedError,
    exceptions.ValidationError,
)
#: Libraries whose other errors mean that something failed or changed meanwhile.
_LIBRARIES = frozenset({"hive_metastore", "pyiceberg", "sqlalchemy", "thrift"})


def explained(error: Exception, table: str, access: str) -> BlockReadError | None:
    """Return this package's error for an error of catalog or store, or None if it is neither's.

    Args:
        error: the error, whose text is left out, as it may quote a URL with a password.
        table: the name of the table.
        access: the name of what says how to reach the catalog, for the message.
    """
    why = (isinstance(error, OSError) and error.strerror) or type(error).__name__
    fault = fault_of(error)
    by_service = fault is not None and fault.kind in {"denied", "anonymous", "expired", "refused"}
    if by_service or isinstance(error, (PermissionError, *_REFUSALS)):  # which a retry cannot fix
        return OptionsError(
            f"{table}: the catalog or the store of the table's folder refuses this ({why}); correct {access}, or the"
            " rights of its account, then clear the task"
        )
    if isinstance(error, OSError) or type(error).__module__.partition(".")[0] in _LIBRARIES or fault:
        return TransientError(
            f"{table}: the catalog or the table's folder cannot be reached ({why}); retry when they can be"
        )
    return None
