"""The one place that loads a store's file and its client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.storage.schemes import SCHEMES, scheme_for

if TYPE_CHECKING:
    from airflow_provider_blockread.storage.backends.shared.base import FsspecStore
    from airflow_provider_blockread.storage.backends.shared.model import Store

#: Where tables can be, as a message lists it.
_TABLES = "a local disk, s3://, abfs:// or gs://"


def open_store(uri: str, options: Mapping[str, object], redirect_hosts: Sequence[str] = ()) -> FsspecStore:
    """Return the store of a canonical URI that is not on the local disk.

    Args:
        uri: its scheme and authority determine the store.
        options: the options of the connection.
        redirect_hosts: hosts to which a web server may redirect, besides itself.

    Raises:
        OptionsError: if the scheme is unknown, its package is not installed (the message says which one to install), or
            the options are invalid; the cause is not shown, since it may quote a secret.
    """
    import fsspec  # noqa: PLC0415 - takes a tenth of a second; not for the local disk

    name = uri.partition("://")[0]
    if name == "adl":
        msg = f"{uri}: Azure has ended Data Lake Gen1; move to Gen2, which is abfs://"
        raise OptionsError(msg)
    try:
        kind = fsspec.get_filesystem_class(name)
        store = cast("type[FsspecStore]", _class_of(uri))
    except ImportError as error:
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


def table_options(uri: str, options: Mapping[str, object]) -> dict[str, str]:
    """Return the options of the store of a table, by the names of the Rust library object_store.

    Raises:
        OptionsError: if a table cannot be in such a store, or its package is not installed.
    """
    try:
        found = _class_of(uri).table_options(options)
    except ImportError as error:
        raise _not_installed(uri, error) from error
    if found is None:
        name = uri.partition("://")[0]
        msg = f"{uri}: a table cannot be in {name}://, which has no atomic commit; choose {_TABLES}"
        raise OptionsError(msg)
    return found


def _class_of(uri: str) -> type[Store]:
    return cast("type[Store]", resolve_name(f"{__package__}.{scheme_for(uri).store}"))


def _not_installed(uri: str, error: Exception) -> OptionsError:
    name = uri.partition("://")[0]
    extra = scheme_for(uri).extra
    how = f"pip install 'airflow-provider-blockread[{extra}]'" if extra else str(error)
    return OptionsError(f"{uri}: {name}:// needs a package that is not installed here; install it: {how}")
