"""Stops drivers on a cluster that work for a try or generation that is over; they are fenced in any case."""

from __future__ import annotations

from contextlib import suppress
from typing import cast

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.exchange.layout import attempt_folder, window_folder
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.results import SPEC_NAME
from airflow_provider_blockread.exchange.signs import write_stop
from airflow_provider_blockread.ledger.model import GroupRef, Window
from airflow_provider_blockread.ledger.windows.generations import get_generation
from airflow_provider_blockread.ledger.windows.groups import running_before
from airflow_provider_blockread.steps.model import DetachedSubmitter, Environment, Submitter


def stop_driver(
    env: Environment, submitter: Submitter, submission: Submission, application: str | None, why: str
) -> None:
    """Stop a driver by a stop file, and through its cluster if supported; an unreachable store or cluster is ignored.

    `application` is its id on the cluster, or None for the submitter's last one.
    """
    with suppress(BlockReadError):
        write_stop(env.stores, submission, why)
    if not submitter.keeps_secrets:  # otherwise drivers end with the submitter
        cast("DetachedSubmitter", submitter).kill(application)


def stop_superseded(env: Environment, submitter: Submitter, window: Window, ref: GroupRef) -> None:
    """Stop drivers that read a group for earlier generations, whose workers were lost and could not stop them."""
    for row in running_before(env.ledger, ref):
        options = get_generation(env.ledger, window.id, row.ref.generation).as_options()
        place = window_folder(options.sink.work_area, window.feed, window.id)
        folder = attempt_folder(place, row.ref.generation, row.ref.group, row.epoch)
        submission = Submission(spec_uri=f"{folder}/{SPEC_NAME}", spec_hash=row.spec_hash or "")
        stop_driver(env, submitter, submission, row.application, f"generation {ref.generation} has taken over")
