"""Retries requests while the store fails or asks to slow down: a bounded number of times, at growing intervals."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from airflow_provider_blockread.errors import BlockReadError, TransientError
from airflow_provider_blockread.storage.backends.shared.errors import as_error, quiet

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often a request is tried, and how long the pauses are.

    The pause before try n is random in [0, first_s * 2^n), at most `longest_s`, so that many clients that were refused
    together do not retry together.
    """

    tries: int = 6
    first_s: float = 0.5
    longest_s: float = 20.0

    def ask(self, uri: str, request: Callable[[], _Answer], wait: Callable[[float], object] = time.sleep) -> _Answer:
        """Return the answer to a request about `uri`; `wait` takes the seconds to pause.

        Raises:
            TransientError: if the last try failed, too.
            BlockReadError: at once, if a retry cannot help.
        """
        attempt = 1
        while True:
            try:
                return request()
            except Exception as error:
                found = error if isinstance(error, BlockReadError) else as_error(uri, error)
                if found is None or (found is error and not isinstance(found, TransientError)):
                    raise
                if not isinstance(found, TransientError):
                    raise found from quiet(error)
                if attempt >= self.tries:
                    msg = f"{found} (tried {self.tries} times)"
                    raise TransientError(msg) from quiet(error)
            wait(random.uniform(0, min(self.longest_s, self.first_s * 2**attempt)))  # noqa: S311 - no secret
            attempt += 1
