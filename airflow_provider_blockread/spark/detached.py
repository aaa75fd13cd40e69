"""A Spark driver on a cluster, which no process on Airflow's side watches or can signal."""

from __future__ import annotations

import os
import sys
import threading
import time
import uuid
from collections.abc import Callable
from itertools import count

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.signs import read_stop, write_sign
from airflow_provider_blockread.spark.parent import OWN_LINE
from airflow_provider_blockread.storage.stores import Stores

#: Seconds between two polls for a stop file, and between two signs of life.
PERIOD_S = 5.0


def end_when_stopped(make_stores: Callable[[], Stores], submission: Submission) -> None:
    """Write signs of life from now on, and end this process, together with Spark, when a stop file appears.

    Temporary failures of the store are ignored: the work is fenced in any case.
    """
    stores, life = make_stores(), uuid.uuid4().hex

    def watch() -> None:
        for number in count():
            try:
                why = read_stop(stores, submission)
                if why is not None:
                    print(f"{OWN_LINE}stopped: {why}", file=sys.stderr, flush=True)  # noqa: T201 - the cluster's log
                    os._exit(143)
                write_sign(stores, submission, f"{life} {number}\n")
            except BlockReadError:
                pass
            time.sleep(PERIOD_S)

    threading.Thread(target=watch, name="blockread-stop-watch", daemon=True).start()
