"""The registry of stores: each row names a class that exists and an extra that installs its client."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from airflow_provider_blockread.storage.backends import registry
from airflow_provider_blockread.storage.backends.model import Store
from airflow_provider_blockread.storage.uris import canonical

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.mark.parametrize("scheme", sorted(registry.SCHEMES))
def test_each_scheme_names_a_store(scheme: str) -> None:
    """The class is found where the row says, and its URIs keep the scheme."""
    known = registry.SCHEMES[scheme]
    module, _, name = known.store.partition(":")

    assert issubclass(getattr(import_module(f"{registry.__package__}.{module}"), name), Store)
    assert known.extra is None or known.extra in PROJECT["optional-dependencies"]
    assert known.same_as is None or known.same_as in registry.SCHEMES
    assert canonical(f"{scheme}:///x").startswith(f"{scheme}://")


@pytest.mark.parametrize("alias", sorted(registry.ALIASES))
def test_each_alias_is_a_scheme(alias: str) -> None:
    """Canonical URIs have the scheme of the registry."""
    assert canonical(f"{alias}:///x").startswith(f"{registry.ALIASES[alias]}://")
    assert registry.ALIASES[alias] in registry.SCHEMES
