"""Templates in options: what is rendered, and what stays as it was written."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_blockread.operators.split_files import SplitFilesOperator
from airflow_provider_blockread.options import Delimited, FileSource, TextSink

pytestmark = pytest.mark.airflow


def test_line_ends_in_options_stay(dag_id: str) -> None:
    """Jinja drops a newline at the end of a text and turns CRLF into LF; a delimiter is no template."""
    source, sink, form = FileSource("/in/{{ day }}"), TextSink("/out"), Delimited(delimiter="\r\n")
    with DAG(dag_id):
        task = SplitFilesOperator(task_id="plan", source=source, sink=sink, record_format=form)
    context: Any = {"day": "monday"}

    assert task.render_template(source, context) == FileSource("/in/monday")
    assert task.render_template(sink, context) == sink
    assert task.render_template(form, context) == form
