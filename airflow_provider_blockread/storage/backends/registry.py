"""The one place that loads a store's file and its client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.storage.schemes import SCHEMES, scheme_for

if TYPE_CHECKING:
    from airflow_provider_blockread.storage.backends.shared.base import FsspecStore


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
    import fsspec  # noqa: PLC0415 - takes a tenth of a second; the local disk needs none

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
