"""Names of data files: no two attempts ever share one, so a name stands for its content."""

from __future__ import annotations

import re
from dataclasses import dataclass

from airflow_provider_blockread.errors import ExchangeError
from airflow_provider_blockread.storage import uris

#: How the names of all data files begin.
FILE_PREFIX = "part-w"

_NAME = re.compile(r"part-w[A-Za-z0-9]+-g\d+-\d{5,}-e\d+-t\d+-\d{4,}\.parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedName:
    """Who writes: everything that a data file's name carries but its running number."""

    folder: str  # URI of the staging folder
    window: str
    generation: int
    group: int
    epoch: int
    attempt: int  # Spark's task attempt id, unique in an application

    def uri(self, number: int) -> str:
        """Return the URI of this attempt's file with a running number."""
        who = f"g{self.generation}-{self.group:05d}-e{self.epoch}-t{self.attempt}"
        return uris.child(uris.canonical(self.folder), f"{window_prefix(self.window)}{who}-{number:04d}.parquet")

    def is_kin(self, uri: str) -> bool:
        """Tell whether a URI is one that this attempt at the group gives, in any of its tasks."""
        mine, its = self.uri(0), uris.name_of(uri)
        begins = uris.name_of(mine).rpartition("-t")[0]
        is_here = uri == uris.child(uris.parent(mine), its)
        return is_here and its.startswith(f"{begins}-t") and _NAME.fullmatch(its) is not None


def window_prefix(window: str) -> str:
    """Return how the names of a window's data files begin, and no other window's."""
    return f"{FILE_PREFIX}{window}-"


def output_name(uri: str) -> str:
    """Return the name of a data file, in staging or in the output.

    Raises:
        ExchangeError: when it is not a name that a group's writer gives.
    """
    name = uris.name_of(uri)
    if _NAME.fullmatch(name) is None:
        msg = f"{uri} is not a data file of a group, so it will not be published; clear the group that lists it"
        raise ExchangeError(msg)
    return name
