"""Excluding files that are gone or changed, where the policy says so: a vanished file must not wedge its feed."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.errors import FileMissingError, SourceError
from airflow_provider_blockread.exchange.manifest import read_manifest
from airflow_provider_blockread.ledger.exclusions import exclude_file
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.options import Policies
from airflow_provider_blockread.steps.model import Environment


def excluded_by_policy(env: Environment, window: Window, policies: Policies, error: SourceError, *, who: str) -> bool:
    """Exclude the file that an error says is missing or changed, if the policies allow it; tell whether they did."""
    missing = isinstance(error, FileMissingError)
    if not error.path or (policies.on_missing if missing else policies.on_changed) != "exclude":
        return False
    groups = groups_of(read_manifest(env.stores, window.manifest_uri, window.manifest_hash), error.path)
    reason = "missing" if missing else "changed"
    exclude_file(env.ledger, window.id, error.path, reason=reason, who=who, groups=groups)
    env.log(f"WARNING: {error.path} is {reason} and now excluded from window {window.id}")
    return True


def groups_of(blocks: Iterable[Block], path: str) -> list[int]:
    """Return the numbers of the groups that hold blocks of a path, in order."""
    return list(dict.fromkeys(block.group for block in blocks if block.version.path == path))
