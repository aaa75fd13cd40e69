"""The provider's declaration to Airflow, and `airflow blockread ...`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow.cli.cli_config import ActionCommand

_INTEGRATION = "Block read"
_PACKAGE = "airflow_provider_blockread"


def get_provider_info() -> dict[str, Any]:
    """Return the provider's metadata by Airflow's `provider_info.schema.json`; Airflow reads it at every start."""
    return {
        "package-name": "airflow-provider-blockread",
        "name": "Block read",
        "description": "Reads files into records on Spark, each record exactly once, and proves it per window.",
        "integrations": [{"integration-name": _INTEGRATION, "tags": ["software"]}],
        "hooks": _modules("hooks", "ledger", "spark", "queues"),
        "operators": _modules(
            *("operators", "split_files", "scan_blocks", "read_blocks", "commit_window"),
            *("merge_files", "clean_source", "prune_ledger", "rebuild_windows", "withdraw_window"),
        ),
        "sensors": _modules("sensors", "new_files"),
        "triggers": _modules("triggers", "applications", "new_files", "new_files_events", "remote_work"),
        "connection-types": [_ledger_connection()],
        "plugins": [{"name": "blockread", "plugin-class": f"{_PACKAGE}.plugins.blockread.BlockReadPlugin"}],
        "notifications": [f"{_PACKAGE}.notifications.blockread.BlockReadNotifier"],
        "extra-links": [f"{_PACKAGE}.links.pages.{name}" for name in ("WindowLink", "OutputLink", "SparkLink")],
        "config": _config(),
        "cli": [f"{_PACKAGE}.get_provider_info.cli_commands"],
    }


def _config() -> dict[str, Any]:
    options: dict[str, dict[str, Any]] = {
        "ledger_conn_ids": {
            "description": "The connections of the ledgers that the pages show, separated by commas.",
            "default": "blockread_default",
            "example": "blockread_default,blockread_archive",
        },
        "spark_history_url": {
            "description": "The address of Spark's history server, for links from tasks to their applications.",
            "default": None,
            "example": "https://spark-history.example.com",
        },
    }
    facts: dict[str, Any] = {"type": "string", "version_added": None}
    return {
        "blockread": {
            "description": "Block read: the pages in Airflow's web interface.",
            "options": {name: facts | option for name, option in options.items()},
        }
    }


def cli_commands() -> list[ActionCommand]:
    """Return the command `airflow blockread`, which passes all of its arguments to the program `blockread`."""
    from airflow.cli.cli_config import ActionCommand, Arg  # noqa: PLC0415 - Airflow reads this file without its CLI

    return [
        ActionCommand(
            name="blockread",
            help="Plan, run and inspect windows of files: the program blockread",
            func=_forward,
            args=(
                Arg(  # type: ignore[no-untyped-call]
                    ("arguments",), nargs=argparse.REMAINDER, help="as after `blockread`"
                ),
            ),
        )
    ]


def _forward(arguments: argparse.Namespace) -> None:
    from airflow_provider_blockread.cli import main  # noqa: PLC0415 - Airflow reads this file without our CLI

    main(list(arguments.arguments) or ["--help"])


def _modules(folder: str, *names: str) -> list[dict[str, Any]]:
    modules = [f"{_PACKAGE}.{folder}.{name}" for name in names]
    return [{"integration-name": _INTEGRATION, "python-modules": modules}]


def _ledger_connection() -> dict[str, Any]:
    text = {"type": ["string", "null"]}
    return {
        "connection-type": "blockread",
        "hook-class-name": f"{_PACKAGE}.hooks.ledger.LedgerHook",
        "hook-name": "Block read ledger",
        "ui-field-behaviour": {
            "hidden-fields": ["extra"],
            "relabeling": {"schema": "Database"},
            "placeholders": {"port": "5432"},
        },
        "conn-fields": {
            "sslmode": {"label": "SSL mode", "description": "As libpq has it, e.g. verify-full", "schema": text},
            "url": {
                "label": "URL",
                "description": "A whole URL, such as postgresql://user@host/database, instead of the fields above",
                "schema": text | {"format": "password"},
            },
        },
    }
