"""Posts to a chat what people must know about a window: a failed proof, bad records, a missed deadline."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
from airflow.sdk import BaseHook, BaseNotifier

from airflow_provider_blockread.errors import ProofError, RecordError, printable
from airflow_provider_blockread.links.addresses import window_page, with_host
from airflow_provider_blockread.links.pages import window_of
from airflow_provider_blockread.operators.base import FAILED
from airflow_provider_blockread.operators.publishing import PUBLISHED

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_blockread.steps import Published

_TIMEOUT_S = 10.0
_MAX_CHARS = 3000
# Characters in names of files that would be a mention, a link or markup in a chat are replaced.
_HARMLESS = str.maketrans("<>[]@`*~|#", "‹›［］＠'∗∼¦＃")  # noqa: RUF001 - that is the point
_ADDRESS = re.compile(r"://|\bwww\.", re.IGNORECASE)  # which chats turn into links


class BlockReadNotifier(BaseNotifier):
    """Posts `{"text": ...}` to a chat's webhook when a window fails its proof or has bad records.

    Give it to the tasks of a task group, as in `default_args={"on_failure_callback": notifier, "on_success_callback":
    notifier, "on_skipped_callback": notifier}`; it does not post anything else. With `AsyncCallback` or `SyncCallback`,
    it posts that a deadline was missed. Records are never quoted.

    :param conn_id: the connection whose password is the webhook's address; Airflow masks it in logs.
    :param bad_records: how many bad records a published window may have without a post.
    """

    def __init__(self, conn_id: str, *, bad_records: int = 0, **kwargs: Any) -> None:  # noqa: ANN401 - BaseNotifier's
        super().__init__(**kwargs)
        self.conn_id = conn_id
        self.bad_records = bad_records

    def notify(self, context: Context) -> None:
        """Post what people must know about a task's outcome, if anything."""
        text = self.text(context)
        if text:
            address = BaseHook.get_connection(self.conn_id).password or ""
            with self._logging_refusals():
                httpx.post(address, json={"text": text}, timeout=_TIMEOUT_S).raise_for_status()

    async def async_notify(self, context: Context) -> None:
        """Post that a DAG run has missed its deadline."""
        text = _missed(context)
        address = (await BaseHook.aget_connection(self.conn_id)).password or ""
        with self._logging_refusals():
            async with httpx.AsyncClient(timeout=_TIMEOUT_S) as client:
                (await client.post(address, json={"text": text})).raise_for_status()

    def text(self, context: Context) -> str:
        """Return what to post about a task's end or a missed deadline, or an empty string for nothing."""
        found: Any = context
        if "deadline" in found:
            return _missed(context)
        error, published = found.get(FAILED), found.get(PUBLISHED)
        if isinstance(error, ProofError | RecordError):
            return _failed(context, error)
        if published is not None and published.bad_records > self.bad_records:
            return _with_page(_bad(published), context, published.window)
        return ""

    @contextmanager
    def _logging_refusals(self) -> Iterator[None]:
        """Log an error of the body instead of raising it, and without its text, which may quote the address."""
        try:
            yield
        except httpx.HTTPStatusError as error:
            said = f"it answered {error.response.status_code}"
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            said = type(error).__name__
        else:
            return
        self.log.error(
            "nothing was posted to the webhook of connection %s: %s; its password must be the webhook's address",
            self.conn_id,
            said,
        )


def _missed(context: Context) -> str:
    run: Mapping[str, Any] = context["dag_run"]  # type: ignore[assignment] # of a deadline: JSON
    return _harmless(
        f"DAG {run['dag_id']} has missed the deadline of its run {run['dag_run_id']}, which is {run['state']}."
    )


def _failed(context: Context, error: ProofError | RecordError) -> str:
    task: Any = context["task"]
    window = window_of(task)
    name = f"Window {window['key']} of feed {window['feed']}" if window else f"The window of task {task.task_id}"
    if isinstance(error, ProofError):
        why = _ADDRESS.sub(lambda found: found[0].replace("/", "∕").replace(".", "․"), str(error))  # noqa: RUF001
        said = f"{name} failed its proof: nothing of it is published, and what was published before stays. {why}"
    else:
        said = f"{name} has a bad record: nothing of it is published. The log of {context['ti'].task_id} shows it."
    return _with_page(said, context, window["window"]) if window else _harmless(said)


def _bad(done: Published) -> str:
    kept = f"; they are kept in {done.quarantine_uri}" if done.quarantine_uri else ""
    name = f"Window {done.key} of feed {done.feed}"
    what = "is published without them" if done.status == "published" else f"is {done.status}"
    return f"{name}: {done.bad_records:,} of {done.records:,} records are bad, and it {what}{kept}."


def _with_page(text: str, context: Context, window: str) -> str:
    page = window_page(getattr(context["task"], "ledger_conn_id", None), window)
    return _harmless(text) + (f"\n{with_host(page)}" if page else "")


def _harmless(text: str) -> str:
    """Return a text without markup, mentions and unprintable characters, whatever names are in it."""
    return printable(text)[:_MAX_CHARS].translate(_HARMLESS)
