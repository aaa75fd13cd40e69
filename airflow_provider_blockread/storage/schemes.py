"""From a URI to fsspec's file system: which package it takes, how it is opened, by which path it knows a place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import fsspec
from fsspec.spec import AbstractFileSystem

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.backends.redirects import bounded, keep_credentials

_EXTRAS = {"s3": "s3", "abfs": "azure", "gs": "gcs", "sftp": "sftp", "ssh": "sftp"}
_NAME = "name"
_OF_WEB, _OF_HDFS = "HTTPFileSystem", "WebHDFS"


def kind_of(uri: str) -> type[AbstractFileSystem]:
    """Return the class of file system that opens a canonical URI.

    Raises:
        OptionsError: when the scheme is unknown, or its package is not installed; it says which one to install.
    """
    scheme = uris.scheme_of(uri)
    try:
        kind: type[AbstractFileSystem] = fsspec.get_filesystem_class(scheme)
    except (ImportError, AttributeError) as error:  # the latter of adlfs, which has given up Data Lake Gen1
        raise _not_installed(uri, error) from error
    except ValueError:
        known = ", ".join(f"{name}://" for name in ("file", *_EXTRAS))
        msg = f"{uri}: cannot open {scheme}://, the scheme is unknown; correct it ({known} and all that fsspec knows)"
        raise OptionsError(msg) from None
    return kind


def connect(
    kind: type[AbstractFileSystem], uri: str, options: Mapping[str, object], redirect_hosts: Iterable[str] = ()
) -> AbstractFileSystem:
    """Return a file system for what lies in the authority of a canonical URI.

    Args:
        kind: its class.
        uri: whose authority is meant.
        options: of the connection.
        redirect_hosts: where a web server may redirect to besides itself.

    Raises:
        OptionsError: when the options do not fit, or are of another account than the one named; the cause is not
            shown, since it may quote a secret one.
    """
    scheme = uris.scheme_of(uri)
    try:
        asked = kind._get_kwargs_from_urls(f"{scheme}://{uris.authority_of(uri)}/")  # noqa: SLF001 - host, port, account
        system = kind(**(asked | _fitted(options) | _redirecting(kind, uri, options, redirect_hosts)))
        if kind.__name__ == _OF_HDFS:
            keep_credentials(system)
    except (TypeError, ValueError):
        msg = f"{uri}: cannot open {scheme}://, its connection's options do not fit; correct them"
        raise OptionsError(msg) from None
    except ImportError as error:
        raise _not_installed(uri, error) from error
    except OSError as error:
        if "Unable to load lib" not in str(error):  # as pyarrow says of Java's and Hadoop's
            raise
        msg = (
            f"{uri}: {scheme}:// needs Java and Hadoop's libhdfs here (JAVA_HOME, HADOOP_HOME, CLASSPATH); install"
            " them, or write webhdfs://, which needs neither"
        )
        raise OptionsError(msg) from None
    named, opened = (_primary(name) for name in (asked.get("account_name"), _account_of(system)))
    if named and opened and named != opened:  # which would be read under the other one's name
        msg = f"{uri}: its connection opens the account {opened}, not {named}; name by conn_id a connection to {named}"
        raise OptionsError(msg)
    return system


def _redirecting(
    kind: type[AbstractFileSystem], uri: str, options: Mapping[str, object], hosts: Iterable[str]
) -> dict[str, object]:
    if kind.__name__ != _OF_WEB:
        return {}
    return bounded(options, f"{uris.scheme_of(uri)}://{uris.authority_of(uri)}", hosts)


def _account_of(system: AbstractFileSystem) -> str | None:
    """Return the account that a file system of Azure reads, None where its client cannot tell."""
    return getattr(getattr(system, "service_client", None), "account_name", None)


def _primary(account: str | None) -> str:
    """Return the account of a name as hosts have it: of a private address, or of the copy that is only read."""
    return (account or "").partition(".")[0].removesuffix("-secondary")


def _not_installed(uri: str, error: Exception) -> OptionsError:
    scheme = uris.scheme_of(uri)
    if scheme == "adl":
        return OptionsError(f"{uri}: Azure has ended Data Lake Gen1; move to Gen2, which is abfs://")
    extra = _EXTRAS.get(scheme)
    how = f"pip install 'airflow-provider-blockread[{extra}]'" if extra else str(error)
    return OptionsError(f"{uri}: {scheme}:// needs a package that is not installed here; install it: {how}")


def path_in(kind: type[AbstractFileSystem], uri: str) -> str:
    """Return the path by which a file system knows a canonical URI.

    How fsspec maps URIs is asked with a plain name in the place of the path: it takes `?`, `#` and control characters
    in some schemes for a URL's, while here a name is its bytes.
    """
    folder, slash, path = uri.partition("://")[2].partition("/")
    if not path:
        return str(kind._strip_protocol(uri))  # noqa: SLF001 - how fsspec itself maps URIs
    mapped = str(kind._strip_protocol(f"{uris.scheme_of(uri)}://{folder}{slash}{_NAME}"))  # noqa: SLF001 - as above
    return mapped.removesuffix(_NAME) + path


def _fitted(options: Mapping[str, object]) -> dict[str, object]:
    """Return options as file systems take them: asyncssh tells a key from the name of its file by the type."""
    ready = dict(options)
    keys, hosts = ready.get("client_keys"), ready.get("known_hosts")
    if isinstance(keys, (list, tuple)):
        ready["client_keys"] = [key.encode() if "PRIVATE KEY" in str(key) else key for key in keys]
    if isinstance(hosts, str) and " " in hosts:
        ready["known_hosts"] = hosts.encode()
    return ready
