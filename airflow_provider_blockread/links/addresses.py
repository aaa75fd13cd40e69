"""Where the pages are in Airflow's web server, and which ledgers they show."""

from __future__ import annotations

from urllib.parse import quote, urljoin, urlsplit

from airflow.sdk.configuration import conf

from airflow_provider_blockread.hooks.ledger import LedgerHook

PREFIX = "/blockread"
"""Where the pages are mounted, below the path of Airflow's own pages."""


def base_path() -> str:
    """Return the path of Airflow's own pages, without a trailing slash."""
    return urlsplit(str(conf.get("api", "base_url", fallback="/"))).path.rstrip("/")


def with_host(address: str) -> str:
    """Return the absolute address for one on this server, if `[api] base_url` says where the server is."""
    return urljoin(str(conf.get("api", "base_url", fallback="")), address)


def shown_ledgers() -> list[str]:
    """Return the connections of the ledgers that the pages show: `[blockread] ledger_conn_ids`."""
    named = conf.get("blockread", "ledger_conn_ids", fallback=LedgerHook.default_conn_name)
    return [conn_id for name in named.split(",") if (conn_id := name.strip())]


def window_page(ledger_conn_id: str | None, window: str) -> str:
    """Return the address of a window's page, or an empty string if the pages do not show its ledger."""
    ledger = ledger_conn_id or LedgerHook.default_conn_name
    if not window or ledger not in shown_ledgers():
        return ""
    return f"{base_path()}{PREFIX}/ledgers/{quote(ledger, safe='')}/windows/{quote(window, safe='')}"


def history_page(application: str) -> str:
    """Return the address of a Spark application in the history server of `[blockread] spark_history_url`, if any."""
    history = conf.get("blockread", "spark_history_url", fallback=None) if application else None
    return f"{str(history).rstrip('/')}/history/{quote(application, safe='')}/" if history else ""
