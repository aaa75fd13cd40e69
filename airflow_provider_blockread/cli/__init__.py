"""The command line, for trying, debugging and testing without an Airflow database or process.

The commands call the same steps as the operators and run the Spark job in this process.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence

from airflow_provider_blockread.cli.terminal.interrupts import exit_on_signals
from airflow_provider_blockread.heap import end_without_collecting


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    The exit code is 0 on success, 1 with a message for this package's errors, 2 for wrong usage, and 128 plus the
    signal's number when SIGINT, SIGTERM or SIGHUP stopped the command.
    """
    exit_on_signals()  # importing the commands takes a second
    end_without_collecting()
    gc.disable()  # modules are never garbage: collections during imports take a tenth of the time
    from airflow_provider_blockread.cli.commands import call  # noqa: PLC0415
    from airflow_provider_blockread.records.custom import MODULE_FOLDERS  # noqa: PLC0415

    gc.enable()
    MODULE_FOLDERS.append("")  # functions, formats and sinks may be modules of the working directory
    call(arguments)
