"""Schemes: each row names a class that exists and an extra that installs its client."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from airflow_provider_blockread.storage import backends, schemes
from airflow_provider_blockread.storage.backends.shared.model import Store
from airflow_provider_blockread.storage.uris import canonical

CONFIG = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))


@pytest.mark.parametrize("scheme", sorted(schemes.SCHEMES))
def test_each_scheme_names_a_store(scheme: str) -> None:
    """The class is found where the row says, and its URIs keep the scheme."""
    known = schemes.SCHEMES[scheme]
    module, _, name = known.store.partition(":")

    assert issubclass(getattr(import_module(f"{backends.__name__}.{module}"), name), Store)
    assert known.extra is None or known.extra in CONFIG["project"]["optional-dependencies"]
    assert known.same_as is None or known.same_as in schemes.SCHEMES
    assert canonical(f"{scheme}:///x").startswith(f"{scheme}://")


@pytest.mark.parametrize("alias", sorted(schemes.ALIASES))
def test_each_alias_is_a_scheme(alias: str) -> None:
    """Canonical URIs have the scheme itself."""
    assert canonical(f"{alias}:///x").startswith(f"{schemes.ALIASES[alias]}://")
    assert schemes.ALIASES[alias] in schemes.SCHEMES


def test_no_store_knows_another_one() -> None:
    """The import contract lists each of them."""
    contract = next(c for c in CONFIG["tool"]["importlinter"]["contracts"] if c["id"] == "backends")
    stores = {known.store for known in schemes.SCHEMES.values()} - {schemes.Scheme().store}
    modules = {store.partition(":")[0] for store in stores}

    assert set(contract["modules"]) == {f"{backends.__name__}.{module}" for module in modules}
