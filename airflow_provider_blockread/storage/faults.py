"""What the clients of stores raise, told by names and codes alone: none of them need be installed here.

Nothing of a client's own text is passed on but a code or a class's name, since the text may quote an address that
carries a key, or a token.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["missing", "denied", "expired", "archived", "throttled", "refused", "failed"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CLIENTS = _words(
    "adlfs aiobotocore aiohttp asyncssh azure boto3 botocore fsspec gcsfs google msal paramiko requests s3fs"
    " smbprotocol sshfs urllib3"
)
_CODES: dict[Kind, frozenset[str]] = {
    "missing": _words("NoSuchBucket NoSuchKey BlobNotFound ContainerNotFound ResourceNotFound"),
    "denied": _words("AccessDenied InvalidAccessKeyId SignatureDoesNotMatch AuthenticationFailed"),
    "expired": _words("ExpiredToken ExpiredTokenException TokenRefreshRequired InvalidToken"),
    "archived": _words("InvalidObjectState BlobArchived BlobBeingRehydrated"),
    "throttled": _words(
        "SlowDown ServerBusy Throttling ThrottlingException ThrottledException RequestLimitExceeded RequestThrottled"
        " RequestThrottledException TooManyRequestsException BandwidthLimitExceeded"
    ),
    "failed": _words("RequestTimeout RequestExpired InternalError OperationTimedOut OperationAborted"),
}
_TYPES: dict[Kind, frozenset[str]] = {
    "missing": _words("SFTPNoSuchFile SFTPNoSuchPath ResourceNotFoundError"),
    "denied": _words(
        "SFTPPermissionDenied PermissionDenied AuthenticationException NoCredentialsError PartialCredentialsError"
        " DefaultCredentialsError CredentialUnavailableError ClientAuthenticationError HostKeyNotVerifiable"
        " BadHostKeyException KeyImportError CredentialRetrievalError"
    ),
    "expired": _words("RefreshError SSOTokenLoadError UnauthorizedSSOTokenError TokenRetrievalError"),
    "refused": _words(
        "ParamValidationError ProfileNotFound NoRegionError InvalidURL InvalidEndpointURLError SFTPBadMessage"
        " SFTPOpUnsupported SFTPInvalidFilename TooManyRedirects InvalidUrlRedirectClientError"
        " NonHttpUrlRedirectClientError"
    ),
}
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_OLDEST = 5  # causes that are looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What went wrong, and the store's own word for it: a code, or a class's name."""

    kind: Kind
    word: str


def fault_of(error: BaseException) -> Fault | None:
    """Return what an error of a store's client, or one caused by such, means; None for any other error."""
    for cause in _causes(error):
        if _of_client(cause):
            code, status = _code(cause), _status(cause)
            kind = _by_code(code) or _by_type(cause) or _by_status(status) or "failed"
            return Fault(kind=kind, word=code or (f"status {status}" if status else type(cause).__name__))
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
    """Return the status of the answer, 0 without one; SFTP's codes are small numbers and mean something else."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        found = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    else:
        names = ("status_code", "status", "code")
        found = next((value for name in names if (value := getattr(error, name, None)) is not None), None)
        found = getattr(response, "status_code", None) if found is None else found
    text = str(found or "")
    return int(text) if text.isdecimal() and len(text) == 3 else 0  # noqa: PLR2004 - as HTTP's are


def _by_code(code: str) -> Kind | None:
    return next((kind for kind, codes in _CODES.items() if code in codes), None)


def _by_type(error: BaseException) -> Kind | None:
    names = {kind.__name__ for kind in type(error).__mro__}
    return next((kind for kind, types in _TYPES.items() if names & types), None)


def _by_status(status: int) -> Kind | None:
    known: dict[int, Kind] = {
        401: "expired",
        403: "denied",
        404: "missing",
        408: "failed",
        429: "throttled",
        503: "throttled",
    }
    if status in known:
        return known[status]
    return "refused" if 300 <= status < 500 else None  # noqa: PLR2004 - the classes of HTTP's codes
