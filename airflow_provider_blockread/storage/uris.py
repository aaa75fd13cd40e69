"""Canonical URIs: one text for each place, however a DAG author wrote it. Nothing here accesses a store."""

from __future__ import annotations

import os.path
import re
from pathlib import Path
from urllib.parse import quote

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.storage.schemes import ALIASES, scheme_for

_PLAIN = "-._~!$&'()*,:;=@"  # in the path of a web server, besides letters and digits
_PLAIN_IN_QUERY = "-._~!$'()*,:@?"  # others separate its parts, or names, depending on whether they are encoded
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})?")
#: What clients of stores, or URIs, may not read literally as a part of a name.
_ODD = re.compile(r"[\x00-\x1f\x7f?#\\]|//|^/|(?:^|/)\.\.?(?:/|$)|/$")
_SECRET = re.compile(  # signatures of object stores, tokens, and what services call their keys and passwords
    r"([?&])(sig|(?:x-(?:amz|goog)-)?signature|(?:x-amz-security-|(?:access|auth|id|refresh)_)?token|api[-_]?key|(?:client_)?secret"
    r"|passw(?:or)?d)=[^&]*",
    re.IGNORECASE,
)
_USER = re.compile(r"(:/{1,2})[^/@\s]*:[^@\s]*@")
#: A user and a password, in which there may be slashes, as in keys of S3; neither a port nor an ARN has one.
_PASSWORD = re.compile(r"(?!arn:|\[)[^/@:]*:(?!\d*/)[^@]*@")
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_LOCAL = "file://"
_CHAIN = re.compile(r"::(?=[A-Za-z][A-Za-z0-9+.-]*://)")
_CHAINED = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?:://.*)?::[A-Za-z][A-Za-z0-9+.-]*://.*", re.DOTALL)
_ONE_SLASH = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/[^/].*", re.DOTALL)


def canonical(uri: str) -> str:
    """Return the absolute URI of a place: with a scheme, `.` and `..` resolved as text, no trailing slash.

    Text without a scheme is a local path. Nothing is percent-encoded or decoded, since a name is its bytes, except on
    web servers, where a path has one spelling. Schemes of the same store become one (`s3a` is `s3`), except those of
    `place_of`, which ledgers distinguish.

    Raises:
        OptionsError: if the text is blank, contains a password or another secret, is a `file://` URI that is not
            absolute, or is a chain of URLs as in fsspec.
    """
    if uri.startswith("file:///") and _is_normal(uri[len(_LOCAL) :]):  # most are, and a plan has millions
        return uri
    if not uri.strip() or "\0" in uri:
        msg = f"{_shown(uri)!r} names no place; give a path or a URI such as s3://bucket/folder"
        raise OptionsError(msg)
    match = _URI.fullmatch(uri)
    if match is None or "::" in uri:
        _check_form(uri)
    if match is None and _URI.fullmatch(uri.lstrip()):
        msg = f"{_shown(uri)!r} begins with a blank, so it would be a local path; remove the blank"
        raise OptionsError(msg)
    name = match[1].lower() if match else "file"
    name = ALIASES.get(name, name)
    if match is None or name == "file":
        return _local(uri, match[2] if match else None)
    return _remote(name, match[2])


def _is_normal(path: str) -> bool:
    """Return True only if `canonical` would not change an absolute path; it may not change it even if this is False."""
    return not (path[-1] == "/" or "//" in path or "/." in path or "::" in path or "\0" in path)


def _shown(uri: str) -> str:
    """Return a URI as an error may show it, without its secrets."""
    return _USER.sub(r"\1...@", _SECRET.sub(r"\1\2=...", uri))


def _check_form(uri: str) -> None:
    if _CHAINED.fullmatch(uri):
        shown = "::".join(map(_shown, _CHAIN.split(uri)))
        msg = (
            f"{shown} is a chain of URLs, which cannot be read in blocks; name the inner place itself, and unpack an"
            " archive first"
        )
        raise OptionsError(msg)
    uri = _shown(uri)
    if (near := _ONE_SLASH.fullmatch(uri)) is not None:
        msg = f"{uri} is not a URI; write {near[1]}:// with two slashes, or ./{uri} for a local path"
        raise OptionsError(msg)


def _local(uri: str, path: str | None) -> str:
    if path is None:  # no scheme: relative to where this runs
        try:
            written = Path(uri).expanduser()
            path = str(written if written.is_absolute() else Path.cwd() / written)
        except FileNotFoundError as error:
            msg = f"{uri} is relative to the working folder, which is gone; change to one that is there, then retry"
            raise OptionsError(msg) from error
        except RuntimeError as error:
            msg = f"{uri}: there is no user with this home folder; write the whole path, or ./{uri}"
            raise OptionsError(msg) from error
    elif not path.startswith("/"):
        msg = f"{_shown(uri)} is not absolute; write file:///folder/name, or the plain path"
        raise OptionsError(msg)
    return f"{_LOCAL}/{os.path.normpath(path).lstrip('/')}"


def _remote(scheme: str, rest: str) -> str:
    known = scheme_for(scheme)
    if known.rooted:
        return f"{scheme}:///{_resolved(rest).strip('/')}"
    authority = rest.partition("/")[0]
    if known.decodes:
        authority = authority.partition("?")[0]
    path = rest[len(authority) :].removeprefix("/")
    user, at, _ = authority.rpartition("@")
    if (at and known.decodes) or (not known.colons and (":" in user or _PASSWORD.match(rest))):
        msg = f"a {scheme}:// URI contains a password, which manifests would store; put it into a connection instead"
        raise OptionsError(msg)
    path, mark, query = path.partition("?") if known.decodes else (path, "", "")
    path = _resolved(_escaped(path, _PLAIN) if known.decodes else path)
    path = f"{path}?{_escaped(query, _PLAIN_IN_QUERY)}" if mark else path.rstrip("/")
    if known.decodes and (secret := _SECRET.search(path)) is not None:
        msg = (
            f"a {scheme}:// URI contains a secret as {secret[2]}=, which manifests would store; name the file in its"
            " own store, such as s3://, or send the secret as a header of a connection"
        )
        raise OptionsError(msg)
    return f"{scheme}://{authority}/{path}" if path else f"{scheme}://{authority}"


def _escaped(text: str, plain: str) -> str:
    """Return a path or query of a web server in its unique spelling, which is that of the client's requests.

    Only characters that a URL cannot contain are percent-encoded; of the others, those that are plain are decoded.
    """

    def one(found: re.Match[str]) -> str:
        if not found[1]:
            return "%25"
        character = chr(int(found[1], 16))
        is_plain = character.isascii() and (character.isalnum() or character in plain)
        return character if is_plain else f"%{found[1].upper()}"

    return quote(_ESCAPE.sub(one, text), safe="/?%:@!$&'()*+,;=", errors="surrogatepass")


def place_of(uri: str) -> str:
    """Return a unique text for the place of a canonical URI, since several URIs may name it; ledgers keep the URIs.

    SSH is SFTP; a host may be in upper or lower case, with or without its default port; an Azure account has two hosts.
    """
    name, _, rest = uri.partition("://")
    authority, slash, path = rest.partition("/")
    known = scheme_for(uri)
    if known.port is not None:
        user, at, host = authority.rpartition("@")
        authority = user + at + host.lower().removesuffix(f":{known.port}")
    elif known.hosts is not None:
        authority = authority.replace(*known.hosts, 1)
    return f"{known.same_as or name}://{authority}{slash}{path}"


def _resolved(path: str) -> str:
    """Return the path without `.` and `..`; empty segments are kept, since object stores distinguish them."""
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    return "/".join(kept)


def scheme_of(uri: str) -> str:
    """Return the scheme of a canonical URI."""
    return uri.partition("://")[0]


def authority_of(uri: str) -> str:
    """Return the host, bucket or account of a canonical URI; empty on the local disk."""
    return uri.partition("://")[2].partition("/")[0]


def origin_of(uri: str) -> str:
    """Return the scheme and authority of a canonical URI."""
    return f"{scheme_of(uri)}://{authority_of(uri)}"


def local_path(uri: str) -> str | None:
    """Return the local path of a canonical URI of the local disk, or None for any other store."""
    return uri[len(_LOCAL) :] if uri.startswith(_LOCAL) else None


def is_local(uri: str) -> bool:
    """Return whether a canonical URI is on the local disk."""
    return uri.startswith(_LOCAL)


def file_uri(path: str) -> str:
    """Return the canonical URI of an absolute, normal local path."""
    return _LOCAL + path


def readable_uri(uri: str) -> str:
    r"""Return a URI for messages: bytes of a name that are not UTF-8 appear as `\udcff`."""
    return uri if uri.isascii() else uri.encode("utf-8", "backslashreplace").decode()


def is_odd(path: str) -> bool:
    """Return whether a path in a store contains what its client may not read literally."""
    return not path or _ODD.search(path) is not None


def without_secret(uri: str) -> str:
    """Return a URI for messages without the secrets in the query of a web server."""
    return _SECRET.sub(r"\1\2=...", uri) if scheme_for(uri).decodes else uri


def child(folder: str, name: str) -> str:
    """Return the canonical URI of a name (or a relative path) inside a folder."""
    return folder + name if folder.endswith("/") else f"{folder}/{name}"


def parent(uri: str) -> str:
    """Return the canonical URI of the folder that contains a file."""
    folder = uri.rpartition("/")[0]
    return folder + "/" if folder.endswith(("//", ":/")) else folder


def name_of(uri: str) -> str:
    """Return the last segment of a URI."""
    return uri.rpartition("/")[2]


def relative_to(uri: str, folder: str) -> str | None:
    """Return the path of a URI relative to a folder (empty for the folder itself), or None if it is elsewhere."""
    if uri == folder:
        return ""
    prefix = child(folder, "")
    return uri[len(prefix) :] if uri.startswith(prefix) else None
