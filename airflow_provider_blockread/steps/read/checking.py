"""Checks of an attempt: that its function fits the window, and that its result is its own."""

from __future__ import annotations

from airflow_provider_blockread.errors import ExchangeError, OptionsError
from airflow_provider_blockread.exchange.files import remedy
from airflow_provider_blockread.exchange.layout import quarantine_folder
from airflow_provider_blockread.exchange.model import GroupResult, ReadSpec
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.options import GenerationOptions
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.registry import quarantine_of


def check_scope(window: Window, options: GenerationOptions) -> None:
    """Refuse a function of the whole window if its blocks are planned in several groups.

    Raises:
        OptionsError: naming the window.
    """
    if options.function.needs_window and window.groups > 1:
        msg = (
            f"feed {window.feed} window {window.id} was planned in {window.groups:,} groups, but {options.function}"
            " needs all of its records at once; set scope='group' if each row depends on one record alone, or publish"
            " this window with the function that it was planned for"
        )
        raise OptionsError(msg)


def check_result(result: GroupResult, spec: ReadSpec, uri: str) -> None:
    """Refuse a result that was not written for this attempt over this manifest.

    Raises:
        ExchangeError: naming what differs.
    """
    for name in ("window", "generation", "group", "epoch", "manifest_hash"):
        if getattr(result, name) != getattr(spec, name):
            msg = (
                f"result file {uri} belongs to {name} {getattr(result, name)!r}, not {getattr(spec, name)!r};"
                " clear the group's task so that it is read again"
            )
            raise ExchangeError(msg)
    own = AttemptName.of(spec, attempt=0)
    kept = quarantine_of(spec.options.sink, spec.feed, spec.window)
    for files, folder, sink in (
        (result.outputs, spec.target.folder, spec.options.sink),
        (result.quarantined, quarantine_folder(spec.folder), kept),
    ):
        foreign = next((file.uri for file in files if not own.is_kin(folder, file.uri, sink.suffix)), None)
        if foreign is not None:
            msg = f"result file {uri} names {foreign!r}, which is not a file of this attempt; {remedy('result file')}"
            raise ExchangeError(msg)
