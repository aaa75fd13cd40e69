"""Translates errors of stores' clients into errors of this package, with the place and what to do.

Clients' errors are recognised only by names and codes, so the clients need not be installed. Their own text is not
passed on, except for a code, a class's name or a server's, since it may quote an address with a key or a token.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from airflow_provider_blockread.errors import BlockReadError, FileMissingError, SourceError, TransientError
from airflow_provider_blockread.storage.uris import without_secret

Kind = Literal["missing", "denied", "anonymous", "expired", "unaccepted", "archived", "throttled", "refused", "failed"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CLIENTS = _words(
    "adlfs aiobotocore aiohttp asyncssh azure boto3 botocore fsspec gcsfs google msal paramiko requests s3fs"
    " smbprotocol sshfs urllib3"
)
_CODES: dict[Kind, frozenset[str]] = {
    "missing": _words("NoSuchBucket NoSuchKey BlobNotFound ContainerNotFound ResourceNotFound"),
    "denied": _words("AccessDenied InvalidAccessKeyId SignatureDoesNotMatch AuthenticationFailed"),
    "expired": _words("ExpiredToken ExpiredTokenException TokenRefreshRequired"),
    "unaccepted": _words("InvalidToken"),
    "archived": _words("InvalidObjectState BlobArchived BlobBeingRehydrated"),
    "throttled": _words(
        "SlowDown ServerBusy Throttling ThrottlingException ThrottledException RequestLimitExceeded RequestThrottled"
        " RequestThrottledException TooManyRequestsException BandwidthLimitExceeded"
        " ProvisionedThroughputExceededException"
    ),
    "failed": _words(
        "RequestTimeout RequestExpired InternalError OperationTimedOut OperationAborted ConditionalRequestConflict"
        " BadDigest XAmzContentSHA256Mismatch PendingCopyOperation"
    ),
}
_TYPES: dict[Kind, frozenset[str]] = {
    "missing": _words("SFTPNoSuchFile SFTPNoSuchPath ResourceNotFoundError"),
    "anonymous": _words(
        "NoCredentialsError PartialCredentialsError DefaultCredentialsError CredentialUnavailableError"
        " CredentialRetrievalError"
    ),
    "denied": _words(
        "SFTPPermissionDenied PermissionDenied AuthenticationException ClientAuthenticationError HostKeyNotVerifiable"
        " BadHostKeyException KeyImportError"
    ),
    "unaccepted": _words("RefreshError SSOTokenLoadError UnauthorizedSSOTokenError TokenRetrievalError"),
    "refused": _words(
        "ParamValidationError ProfileNotFound NoRegionError InvalidURL InvalidEndpointURLError SFTPBadMessage"
        " SFTPOpUnsupported SFTPInvalidFilename TooManyRedirects InvalidUrlRedirectClientError"
        " NonHttpUrlRedirectClientError"
    ),
}
_STATUSES: dict[int, Kind] = {
    401: "unaccepted",
    403: "denied",
    404: "missing",
    408: "failed",
    429: "throttled",
    503: "throttled",
}
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_OLDEST = 5  # causes that are checked


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A kind of failure, and the store's own word for it: a code, or a class's name."""

    kind: Kind
    word: str


def fault_of(error: BaseException) -> Fault | None:
    """Return the meaning of an error that is, or is caused by, an error of a store's client; None for other errors."""
    for cause in _causes(error):
        if _of_client(cause):
            code, status = _code(cause), _status(cause)
            kind = _by_code(code) or _by_type(cause) or _by_status(status) or "failed"
            word = code or (f"status {status}" if status else f"{type(cause).__name__}{_server(cause)}")
            return Fault(kind=kind, word=word)
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    for _ in range(_OLDEST):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__


def _of_client(error: BaseException) -> bool:
    return any(kind.__module__.partition(".")[0] in _CLIENTS for kind in type(error).__mro__)


def _code(error: BaseException) -> str:
    response = getattr(error, "response", None)
    code = response.get("Error", {}).get("Code") if isinstance(response, dict) else getattr(error, "error_code", None)
    text = str(getattr(code, "value", code) or "")
    return text if _WORD.fullmatch(text) else ""


def _status(error: BaseException) -> int:
    """Return the HTTP status of an error, or 0; SFTP's codes are small numbers with another meaning."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        found = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    else:
        names = ("status_code", "status", "code")
        found = next((value for name in names if (value := getattr(error, name, None)) is not None), None)
        found = getattr(response, "status_code", None) if found is None else found
    text = str(found or "")
    return int(text) if text.isdecimal() and len(text) == 3 else 0  # noqa: PLR2004 - as HTTP's are


def _server(error: BaseException) -> str:
    """Return the host and port that did not answer, where a client tells; the rest of the address may have a key."""
    known = getattr(error, "kwargs", None)  # botocore's
    address = str(known.get("endpoint_url", "")) if isinstance(known, dict) else ""
    host, port = (getattr(error, name, None) for name in ("host", "port"))  # aiohttp's
    server = f"{host}:{port}" if host else urlsplit(address).netloc.rpartition("@")[2]
    return server and f" at {server}"


def _by_code(code: str) -> Kind | None:
    return next((kind for kind, codes in _CODES.items() if code in codes), None)


def _by_type(error: BaseException) -> Kind | None:
    names = {kind.__name__ for kind in type(error).__mro__}
    return next((kind for kind, types in _TYPES.items() if names & types), None)


def _by_status(status: int) -> Kind | None:
    return _STATUSES.get(status, "refused" if 300 <= status < 500 else None)  # noqa: PLR2004 - the classes of HTTP's codes


_NO_PATH = {errno.ENAMETOOLONG, errno.ELOOP}
#: The errors for faults other than absence and denied access, with the store's word in the message.
_SAYS: dict[Kind, tuple[type[BlockReadError], str]] = {
    "anonymous": (
        SourceError,
        "no credentials are found ({}); name a connection (conn_id), or give this host an identity, then retry",
    ),
    "expired": (
        TransientError,  # the next try of a task takes new keys
        "the credentials have expired ({}); try again, with new ones if they are written in the connection",
    ),
    "unaccepted": (
        SourceError,
        "the credentials have expired or are not accepted ({}); renew them in the connection, then retry",
    ),
    "archived": (
        SourceError,
        "the object is archived ({}); restore it in its store, or exclude it (`blockread windows exclude`), then retry",
    ),
    "refused": (SourceError, "the store refuses this request ({}); correct the path or the connection, then retry"),
    "throttled": (TransientError, "the store asks to slow down ({}); try again later, with fewer requests at once"),
    "failed": (TransientError, "the store failed ({}); try again when it is back"),
}
_OF_THE_SYSTEM: dict[type[OSError], str] = {
    FileExistsError: " is a file where a folder is needed; correct the path, or move the file away",
    NotADirectoryError: ": a part of this path is a file where a folder is needed; correct the path",
    IsADirectoryError: " is a folder where a file is needed; correct the path",
}
_FULL = (errno.ENOSPC, errno.EDQUOT)


class translated:  # noqa: N801 - it reads as a function, which would take three times as long
    """Turn a store's error about `uri` into an error that names it, and does not show anything that may be secret.

    Raises:
        FileMissingError: if nothing is there.
        SourceError: if access is denied, or if a folder is there instead of a file, or vice versa.
        TransientError: for any other input or output error.
    """

    __slots__ = ("_uri",)

    def __init__(self, uri: str) -> None:
        self._uri = uri

    def __enter__(self) -> None:
        """Enter the body."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """Raise this package's error in place of an error for which there is one."""
        if isinstance(error, Exception) and not isinstance(error, BlockReadError):
            found = as_error(self._uri, error)
            if found is not None:
                raise found from quiet(error)


def quiet(error: Exception) -> Exception | None:
    """Return the error if it may be shown as a cause, otherwise None: a client's text may contain secrets."""
    return error if fault_of(error) is None else None


def as_error(uri: str, error: Exception) -> BlockReadError | None:
    """Return this package's error for an error of the operating system or of a store, or None for other errors."""
    fault = fault_of(error)
    if fault is not None and not _plainer(error, fault):
        return _error_of(uri, fault)
    if isinstance(error, OSError):
        return system_error(uri, error)
    if isinstance(error, (RuntimeError, ValueError)):  # what some file systems raise for a refusal
        return _error_of(uri, Fault(kind="refused", word=type(error).__name__))
    return None


def _plainer(error: BaseException, fault: Fault) -> bool:
    """Return whether the error's own type says more than the underlying code of the client."""
    plain = isinstance(error, (FileNotFoundError, PermissionError, FileExistsError))
    return plain and fault.kind in {"failed", "refused", "denied"}


def _error_of(uri: str, fault: Fault) -> BlockReadError:
    if fault.kind == "missing":
        return _missing(uri)
    if fault.kind == "denied":
        return _denied(uri, f" ({fault.word})")
    kind, says = _SAYS[fault.kind]
    return kind(f"{uri}: {says.format(fault.word)}")


def system_error(uri: str, error: OSError) -> BlockReadError:
    """Return the error of this package for an error of the operating system."""
    if isinstance(error, FileNotFoundError):
        return _missing(uri)
    if isinstance(error, PermissionError) or str(error).startswith("Forbidden"):  # in gcsfs's words
        return _denied(uri, "")
    for kind, says in _OF_THE_SYSTEM.items():
        if isinstance(error, kind):
            return SourceError(f"{uri}{says}")
    reason = error.strerror or type(error).__name__
    if error.errno in _NO_PATH:
        return SourceError(f"{uri}: no file can have this path ({reason}); correct it")
    if error.errno in _FULL:
        return TransientError(f"{uri}: the store is full ({reason}); free space there, then retry")
    return TransientError(f"{uri}: the store failed ({reason}); try again when it is back")


def _missing(uri: str) -> BlockReadError:
    return FileMissingError(
        f"{uri} does not exist; restore it, or exclude it from its window (`blockread windows exclude`)"
    )


def _denied(uri: str, word: str) -> BlockReadError:
    renew = "; renew its key, signature or token if that has expired" if word else ""
    return SourceError(
        f"{uri}: access denied{word}; give the account that runs this (or its connection) access{renew}, then retry"
    )


def misread(uri: str) -> BlockReadError:
    """Return the error for a file whose name the store's client reads as another one."""
    return SourceError(
        f"{without_secret(uri)!a}: the store's client takes this for another name, so it cannot be read; rename or"
        " exclude it"
    )
