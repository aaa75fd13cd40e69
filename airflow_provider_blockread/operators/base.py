"""What the operators share: options that render, the environment of a step, errors that tell Airflow what next."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from airflow_provider_blockread.errors import FINAL_ERRORS, BlockReadError, CompleteError
from airflow_provider_blockread.observer import LogObserver
from airflow_provider_blockread.operators.run_identity import RunIdentity
from airflow_provider_blockread.options import FileSource, ParquetSink, Value

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_blockread.hooks.stores import Credentials
    from airflow_provider_blockread.steps import Environment, WindowRef


class OptionTemplates(BaseOperator):
    """An operator whose options are values, of which every string is a template."""

    def render_template(self, content: Any, context: Context, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - Airflow's
        """Return the content rendered; an option value resolves every string in it."""
        if isinstance(content, Value):
            return content.resolve(lambda text: str(super(OptionTemplates, self).render_template(text, context)))
        return super().render_template(content, context, *args, **kwargs)


class StepOperator(OptionTemplates):
    """An operator that runs one step; its options are values whose every string is a template.

    :param source: the files; a step after the plan needs it only where it names a connection.
    :param sink: where records go; as above.
    :param ledger_conn_id: the ledger's connection; see `LedgerHook` for what happens without one.
    """

    template_fields: Collection[str] = ("source", "sink", "ledger_conn_id")
    ui_color = "#dbe9f4"

    def __init__(
        self,
        *,
        source: FileSource | None = None,
        sink: ParquetSink | None = None,
        ledger_conn_id: str | None = None,
        **kwargs: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**kwargs)
        self.source = source
        self.sink = sink
        self.ledger_conn_id = ledger_conn_id
        self._run = ""  # known when it runs
        self._env: Environment | None = None

    def execute(self, context: Context) -> Any:  # noqa: ANN401 - whatever the step hands on
        """Run the step.

        Raises:
            AirflowFailException: when trying again cannot help.
            AirflowSkipException: when the window is complete, and the task was cleared alone.
            BlockReadError: when trying again can help.
        """
        self._run = str(run_identity(context))
        try:
            return self.run_step(context)
        except CompleteError as error:
            self.log.warning("nothing is done: %s", error)
            raise AirflowSkipException(str(error)) from None
        except BlockReadError as error:
            self._tell_ledger(error)
            if isinstance(error, FINAL_ERRORS):
                raise AirflowFailException(str(error)) from None  # one message, once
            raise
        finally:
            if self._env is not None:
                self._env.ledger.close()

    def _tell_ledger(self, error: BlockReadError) -> None:
        """Say which ledger the commands that an error names must be given, where they would not find it themselves."""
        from airflow_provider_blockread.hooks.ledger import airflow_home  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.ledger.store import default_url  # noqa: PLC0415

        if self._env is None or "`blockread " not in str(error):
            return
        name = self._env.ledger.name
        if name != default_url(airflow_home()):
            self.log.warning("Give the commands that the error names this run's ledger: --state %s", name)

    @abstractmethod
    def run_step(self, context: Context) -> Any:  # noqa: ANN401 - whatever the step hands on
        """Do the work and return what the next step needs, under 64 KB of JSON."""

    def credentials(self) -> Credentials:
        """Return the storage options of the connections that source and sink name."""
        from airflow_provider_blockread.hooks.stores import credentials_for  # noqa: PLC0415 - not at every DAG parse

        return credentials_for(self.source, self.sink)

    def environment(self) -> Environment:
        """Return the ledger, the stores and the log that a step works with; the ledger is closed when it ends."""
        from airflow_provider_blockread.hooks.ledger import LedgerHook  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.steps import Environment  # noqa: PLC0415
        from airflow_provider_blockread.storage.stores import Stores  # noqa: PLC0415

        self._env = Environment(
            ledger=LedgerHook(self.ledger_conn_id, run=self._run).get_conn(),
            stores=Stores(self.credentials()),
            observer=LogObserver(self.log.info, self.log.warning),
        )
        return self._env


def run_identity(context: Context) -> RunIdentity:
    """Return what the context's DAG run is."""
    run = context["dag_run"]
    return RunIdentity(
        dag_id=run.dag_id,
        run_id=run.run_id,
        run_type=str(getattr(run.run_type, "value", run.run_type)),
        clear_number=run.clear_number or 0,
        partition_key=run.partition_key,
        partition_date=run.partition_date,
        data_interval_start=run.data_interval_start,
        data_interval_end=run.data_interval_end,
    )


def owner_of(context: Context) -> str:
    """Return who works: the same at every try of a task, and nobody else's."""
    task = context["ti"]
    return f"{task.dag_id}/{task.run_id}/{task.task_id}/{task.map_index}"


def window_ref(window: Mapping[str, Any]) -> WindowRef:
    """Return the window that a plan handed over by XCom."""
    from airflow_provider_blockread.steps import WindowRef  # noqa: PLC0415 - not at every DAG parse

    return WindowRef.from_json(window)
