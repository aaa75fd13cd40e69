"""The stores, by the schemes of their URIs, and the one place that loads a store's file and its client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

from airflow_provider_blockread.errors import OptionsError

if TYPE_CHECKING:
    from airflow_provider_blockread.storage.backends.base import FsspecStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """What is known of a store from its scheme alone.

    Attributes:
        store: module of this folder and class, as `module:Class`.
        extra: the extra of this package that installs its client.
        port: of its servers, where a URI names none.
        same_as: the scheme by which `place_of` names its places.
        one_store: what has this scheme is one store, whatever host or bucket its URIs name.
        has_times: each file has a modification time, so 0 is one.
        decodes: its servers decode names, so `%2e%2e` may mean the folder above.
        has_blocks: its files have blocks of a size of its own, for which it must be asked.
    """

    store: str = "base:FsspecStore"
    extra: str | None = None
    port: str | None = None
    same_as: str | None = None
    one_store: bool = False
    has_times: bool = False
    decodes: bool = False
    has_blocks: bool = False


_SFTP = Scheme(store="sftp:SftpStore", extra="sftp", port="22", has_times=True)
_HDFS = Scheme(store="hdfs:HdfsStore", has_blocks=True)
_OTHER = Scheme()

#: Each store that has a file of its own, by the scheme of its canonical URIs.
SCHEMES: Mapping[str, Scheme] = {
    "abfs": Scheme(store="azure:AzureStore", extra="azure", has_times=True),
    "file": Scheme(store="disk:LocalDisk", one_store=True, has_times=True),
    "gs": Scheme(store="google:GoogleStore", extra="gcs", one_store=True, has_times=True),
    "hdfs": _HDFS,
    "http": Scheme(store="web:WebStore", port="80", decodes=True),
    "https": Scheme(store="web:WebStore", port="443", decodes=True),
    "memory": Scheme(store="memory:MemoryStore"),
    "s3": Scheme(store="s3:S3Store", extra="s3", one_store=True, has_times=True),
    "sftp": _SFTP,
    "ssh": replace(_SFTP, same_as="sftp"),
    "webhdfs": replace(_HDFS, store="hdfs:WebHdfsStore"),
}
#: Other names of these schemes, which canonical URIs do not have.
ALIASES: Mapping[str, str] = {"abfss": "abfs", "az": "abfs", "gcs": "gs", "local": "file", "s3a": "s3", "s3n": "s3"}


def scheme_for(uri: str) -> Scheme:
    """Return what is known of the scheme of a canonical URI; any other one may be of a store that fsspec opens."""
    return SCHEMES.get(uri.partition("://")[0], _OTHER)


def open_store(uri: str, options: Mapping[str, object], redirect_hosts: Sequence[str] = ()) -> FsspecStore:
    """Return the store of a canonical URI that is not of the local disk.

    Args:
        uri: its scheme and authority say which store.
        options: of the connection.
        redirect_hosts: where a web server may redirect to, besides itself.

    Raises:
        OptionsError: if the scheme is unknown, its package is not installed (then it says which one to install), or
            the options do not fit; their cause is not shown, since it may quote a secret.
    """
    import fsspec  # noqa: PLC0415 - takes a tenth of a second, and this module is imported with `uris`

    name = uri.partition("://")[0]
    module, _, attribute = scheme_for(uri).store.partition(":")
    try:
        kind = fsspec.get_filesystem_class(name)
        store: type[FsspecStore] = getattr(import_module(f"{__package__}.{module}"), attribute)
    except (ImportError, AttributeError) as error:  # the latter of adlfs, which has dropped Data Lake Gen1
        raise _not_installed(uri, error) from error
    except ValueError:
        known = ", ".join(f"{name}://" for name, known in SCHEMES.items() if known.extra or name == "file")
        msg = f"{uri}: cannot open {name}://, the scheme is unknown; correct it ({known} and all that fsspec knows)"
        raise OptionsError(msg) from None
    try:
        return store(kind, uri, options, redirect_hosts)
    except (TypeError, ValueError):
        msg = f"{uri}: cannot open {name}://, its connection's options do not fit; correct them"
        raise OptionsError(msg) from None
    except ImportError as error:
        raise _not_installed(uri, error) from error


def _not_installed(uri: str, error: Exception) -> OptionsError:
    name = uri.partition("://")[0]
    if name == "adl":
        return OptionsError(f"{uri}: Azure has ended Data Lake Gen1; move to Gen2, which is abfs://")
    extra = scheme_for(uri).extra
    how = f"pip install 'airflow-provider-blockread[{extra}]'" if extra else str(error)
    return OptionsError(f"{uri}: {name}:// needs a package that is not installed here; install it: {how}")
