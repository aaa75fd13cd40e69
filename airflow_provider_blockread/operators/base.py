"""What operators share: templates in options, the environment of a step, and errors as Airflow expects them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
from airflow.sdk.serde import allow_class
from jinja2 import TemplateError

from airflow_provider_blockread.errors import FINAL_ERRORS, BlockReadError, CompleteError, OptionsError, printable
from airflow_provider_blockread.operators.reports.observing import AirflowObserver
from airflow_provider_blockread.operators.reports.summaries import Rows, as_table
from airflow_provider_blockread.operators.run_identity import run_identity
from airflow_provider_blockread.options import (
    FileSource,
    FormatOption,
    FunctionOption,
    Policies,
    Selection,
    Sink,
    SparkJob,
    Splitting,
    Value,
)
from airflow_provider_blockread.options.checks import is_template, one_of, parsed_or_template
from airflow_provider_blockread.options.values import all_kinds

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_blockread.hooks.spark import SparkSubmitter
    from airflow_provider_blockread.hooks.stores import Credentials
    from airflow_provider_blockread.spark.remote import ConnectSubmitter
    from airflow_provider_blockread.steps import Environment, WindowRef

T = TypeVar("T")

SUMMARY_KEY = "summary"
"""The XCom key of a sentence that says what the task did."""

FAILED = "blockread_error"
"""The key in a task's context of the error with which its step ended."""

KINDS: Mapping[str, type[Value]] = {
    "source": FileSource,
    "sink": Sink,
    "spark": SparkJob,
    "record_format": FormatOption,
    "splitting": Splitting,
    "function": FunctionOption,
    "selection": Selection,
    "policies": Policies,
}
"""The kind of each option of an operator that is a value."""

_SUMMARY_CHARS = 1000
_OPTIONAL = {"source", "sink"}  # options that may be None

for _kind in all_kinds():
    allow_class(_kind)  # a task may return an option, and Airflow makes no value of other classes from an XCom


class OptionTemplates(BaseOperator):
    """An operator whose options are values in which every string is a template."""

    def render_template(self, content: Any, context: Context, jinja_env: Any = None, seen_oids: Any = None) -> Any:  # noqa: ANN401 - Airflow's
        """Return the rendered content; an option value renders every string in it, unless a task has returned it.

        Raises:
            AirflowFailException: when what is rendered makes no valid option, or is None, which no retry changes.
        """
        if isinstance(content, Value) and id(content) not in (seen_oids or ()):
            try:
                return content.resolve(lambda text: self._rendered(text, context))
            except OptionsError as error:
                raise AirflowFailException(str(error)) from None
        rendered = super().render_template(content, context, jinja_env, seen_oids)
        if rendered == "None" and isinstance(content, str) and is_template(content):  # it would be taken for a name
            msg = f"{self.task_id}: {content} is None after rendering; give what it names a value"
            raise AirflowFailException(msg)
        # Native objects must not change a name: 2026_01 is a number of Python.
        is_number = isinstance(content, str) and isinstance(rendered, int | float)
        return self._rendered(content, context) if is_number else rendered

    def _rendered(self, text: str, context: Context) -> str:
        """Return the rendered text; text without a brace is returned unchanged, since Jinja changes line ends.

        Raises:
            OptionsError: when Jinja cannot render it.
        """
        if "{" not in text:
            return text
        try:
            env = dag.get_template_env(force_sandboxed=True) if (dag := self.get_dag()) else self.get_template_env()
            return env.from_string(text).render(context)
        except TemplateError as error:
            msg = f"{text} cannot be rendered ({error}); correct the template, or give what it names a value"
            raise OptionsError(msg) from None


class StepOperator(OptionTemplates):
    """An operator that runs one step; its options are values in which every string is a template.

    :param source: the files to read; steps after the plan need only its connections.
    :param sink: where records go; steps after the plan need only its connection.
    :param ledger_conn_id: the ledger's connection; `LedgerHook` describes the default.
    """

    template_fields: Collection[str] = ("source", "sink", "ledger_conn_id")
    ui_color = "#dbe9f4"

    def __init__(
        self,
        *,
        source: FileSource | None = None,
        sink: Sink | None = None,
        ledger_conn_id: str | None = None,
        **kwargs: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**kwargs)
        for name, given in (("source", source), ("sink", sink)):
            if given is not None:
                require_kind(self.task_id, name, given)
        self.source = source
        self.sink = sink
        self.ledger_conn_id = ledger_conn_id
        self._run = ""  # set when it runs
        self._feed = ""
        self._env: Environment | None = None

    def execute(self, context: Context) -> Any:  # noqa: ANN401 - whatever the step hands on
        """Run the step and return its result.

        Raises:
            AirflowFailException: when a retry cannot succeed.
            AirflowSkipException: when the window is complete, and only this task was cleared.
            BlockReadError: when a retry may succeed.
        """
        return self.guarded(self.run_step, context)

    def guarded(self, step: Callable[[Context], T], context: Context) -> T:
        """Return the step's result; its errors are raised as Airflow expects them. The ledger is closed afterwards.

        Raises:
            AirflowException: as `execute` does.
        """
        try:
            return self.closed_behind(step, context)
        except CompleteError as error:
            self.log.warning("nothing is done: %s", error)
            raise AirflowSkipException(str(error)) from None
        except BlockReadError as error:
            context[FAILED] = error  # type: ignore[literal-required] # for notifiers
            self._log_ledger(error)
            if isinstance(error, FINAL_ERRORS):
                raise AirflowFailException(str(error)) from None  # one message, once
            raise

    def closed_behind(self, step: Callable[[Context], T], context: Context) -> T:
        """Return the step's result; its errors are raised unchanged. The ledger is closed afterwards."""
        self._run = str(run_identity(context))
        try:
            self._require_kinds()
            return step(context)
        finally:
            if self._env is not None:
                self._env.ledger.close()

    def _require_kinds(self) -> None:
        """Refuse what tasks have returned in place of options."""
        for name in KINDS.keys() & set(self.template_fields):
            value = getattr(self, name)
            if value is not None or name not in _OPTIONAL:
                require_kind(self.task_id, name, value)

    def _log_ledger(self, error: BlockReadError) -> None:
        """Log the ledger's URL for the commands that an error names, unless they use that ledger by default."""
        from airflow_provider_blockread.hooks.ledger import airflow_home  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.ledger.store import default_url  # noqa: PLC0415

        if self._env is None or "`blockread " not in str(error):
            return
        name = self._env.ledger.name
        if name != default_url(airflow_home()):
            self.log.warning("Run the commands that the error names with this run's ledger: --state %s", name)

    @abstractmethod
    def run_step(self, context: Context) -> Any:  # noqa: ANN401 - whatever the step hands on
        """Do the work and return what the next step needs, in less than 64 KB of JSON."""

    def credentials(self) -> Credentials:
        """Return the storage options from the connections of source and sink."""
        from airflow_provider_blockread.hooks.stores import credentials_for  # noqa: PLC0415 - not at every DAG parse

        return credentials_for(self.source, self.sink)

    def environment(self, feed: str = "") -> Environment:
        """Return the environment of the step for a feed; its ledger is closed when the step ends."""
        from airflow_provider_blockread.hooks.ledger import LedgerHook  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.hooks.stores import access_of  # noqa: PLC0415
        from airflow_provider_blockread.steps import Environment  # noqa: PLC0415
        from airflow_provider_blockread.storage.stores import Stores  # noqa: PLC0415

        self._feed = feed
        self._env = Environment(
            ledger=LedgerHook(self.ledger_conn_id, run=self._run).get_conn(),
            stores=Stores(self.credentials()),
            observer=self.observer(),
            access=access_of(self.sink),
        )
        return self._env

    def observer(self) -> AirflowObserver:
        """Return the observer of the step's reports; its metrics are tagged with the DAG and the feed."""
        return AirflowObserver(self.log, {"dag_id": self.dag_id, "feed": self._feed})

    def sum_up(self, context: Context, text: str, rows: Rows) -> None:
        """Log a sentence on what the step did, and a table; push the sentence as the XCom `summary`."""
        observer = self.observer()
        observer.log(text)
        for line in as_table(rows):
            observer.log(line)
        context["ti"].xcom_push(key=SUMMARY_KEY, value=printable(text)[:_SUMMARY_CHARS])


class SparkOperator(StepOperator):
    """An operator whose step runs Spark applications, which it stops when the task is killed.

    :param spark: where and how Spark applications run.
    """

    template_fields = (*StepOperator.template_fields, "spark")

    def __init__(self, *, spark: SparkJob = SparkJob(), **kwargs: Any) -> None:  # noqa: ANN401 - the base class's
        super().__init__(**kwargs)
        require_kind(self.task_id, "spark", spark)
        self.spark = spark
        self._submitter: SparkSubmitter | ConnectSubmitter | None = None

    def submitter(self) -> SparkSubmitter | ConnectSubmitter:
        """Return the submitter that runs applications."""
        from airflow_provider_blockread.hooks.connect import make_submitter  # noqa: PLC0415 - not at every DAG parse

        self._submitter = make_submitter(self.spark, self.credentials(), self.observer())
        return self._submitter

    def on_kill(self) -> None:
        """Stop the running application."""
        if self._submitter is not None:
            self._submitter.cancel()


def require_kind(task: str, name: str, value: object) -> None:
    """Refuse a value that is not of its option's kind; one that Airflow resolves later is checked when the task runs.

    Raises:
        OptionsError: with the task and the option's name.
    """
    kind = KINDS[name]
    if not isinstance(value, kind) and not hasattr(value, "iter_references"):  # Airflow resolves it later
        found = value.__name__ if isinstance(value, type) else f"a value of type {type(value).__name__}"
        msg = f"{task}: {name} must be a {kind.__name__} of airflow_provider_blockread.options, not {found}"
        raise OptionsError(msg)


def require_valid(task: str, name: str, value: object, parse: Callable[[Any], object]) -> None:
    """Refuse text or a number that a parser refuses when the DAG is parsed; templates and results are not checked here.

    Raises:
        OptionsError: with the task, the option's name, and the parser's message.
    """
    if isinstance(value, str | float | int):
        parsed_or_template(task, name, value, parse)


def require_choice(task: str, name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse text that is not among the allowed values when the DAG is parsed, as `require_valid` does.

    Raises:
        OptionsError: with the task, the option's name and the allowed values.
    """
    if isinstance(value, str) and not is_template(value):
        one_of(task, name, value, allowed)


def owner_of(context: Context) -> str:
    """Return the owner of claims: the same at every try of a task, and different for all other tasks."""
    task = context["ti"]
    return f"{task.dag_id}/{task.run_id}/{task.task_id}/{task.map_index}"


def window_ref(window: Mapping[str, Any]) -> WindowRef:
    """Return the window that a plan passed by XCom."""
    from airflow_provider_blockread.steps import WindowRef  # noqa: PLC0415 - not at every DAG parse

    return WindowRef.from_json(window)
