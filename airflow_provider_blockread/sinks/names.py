"""Names of data files: no two attempts ever share one, so a name stands for its content."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from airflow_provider_blockread.errors import ExchangeError
from airflow_provider_blockread.exchange.model import ReadSpec
from airflow_provider_blockread.storage import uris

#: How the names of all data files begin.
FILE_PREFIX = "part-w"

_STEM = re.compile(r"part-w[A-Za-z0-9]+-g\d+-\d{5,}-e\d+-t\d+-\d{4,}(-b[0-9a-f]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptName:
    """Who writes a file: everything that its name contains except its running number and, if any, its block."""

    window: str
    generation: int
    group: int
    epoch: int
    attempt: int  # Spark's task attempt id, unique in an application

    @classmethod
    def of(cls, spec: ReadSpec, *, attempt: int) -> Self:
        """Return the name of a task attempt of a job."""
        return cls(window=spec.window, generation=spec.generation, group=spec.group, epoch=spec.epoch, attempt=attempt)

    def uri(self, folder: str, number: int, suffix: str, block: int | None = None) -> str:
        """Return the URI of this attempt's file with a running number."""
        of_block = "" if block is None else f"-b{block:x}"
        return uris.child(uris.canonical(folder), f"{self._group}-t{self.attempt}-{number:04d}{of_block}{suffix}")

    @property
    def _group(self) -> str:
        return f"{window_prefix(self.window)}g{self.generation}-{self.group:05d}-e{self.epoch}"

    def is_kin(self, folder: str, uri: str, suffix: str) -> bool:
        """Return whether a URI in a folder is one that this attempt at the group gives, in any of its tasks."""
        name = uris.name_of(uri)
        is_here = uri == uris.child(uris.canonical(folder), name)
        return is_here and name.startswith(f"{self._group}-t") and is_data_file(name, suffix)


def window_prefix(window: str) -> str:
    """Return how the names of a window's data files begin, and no other window's."""
    return f"{FILE_PREFIX}{window}-"


def is_data_file(name: str, suffix: str) -> bool:
    """Return whether a name is one that a group's writer gives to files with this suffix."""
    return name.endswith(suffix) and _STEM.fullmatch(name.removesuffix(suffix)) is not None


def require_data_file(uri: str, suffix: str) -> None:
    """Refuse a file that no group's writer gives its name.

    Raises:
        ExchangeError: naming it.
    """
    if not is_data_file(uris.name_of(uri), suffix):
        msg = f"{uri} is not a data file of a group, so it will not be published; clear the group that lists it"
        raise ExchangeError(msg)
