"""How Airflow sees the package: a valid declaration, cheap imports, and the program behind `airflow blockread`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from importlib import import_module, resources
from pathlib import Path

import jsonschema
import pytest
import yaml
from airflow.sdk import BaseHook, BaseOperator, BaseSensorOperator
from airflow.triggers.base import BaseTrigger

from airflow_provider_blockread.get_provider_info import cli_commands, get_provider_info

pytestmark = pytest.mark.airflow
_ROOT = Path(__file__).resolve().parents[2]


def test_the_declaration_is_valid() -> None:
    """Airflow refuses to load a provider whose declaration does not match its schema."""
    schema = json.loads((resources.files("airflow") / "provider_info.schema.json").read_text())

    jsonschema.validate(get_provider_info(), schema)


def test_all_that_is_declared_exists() -> None:
    """Each module holds what its section says, and the connection type's hook says the same of itself."""
    info = get_provider_info()
    sections = {name: info[name][0]["python-modules"] for name in ("hooks", "operators", "sensors", "triggers")}
    declared = [module for modules in sections.values() for module in modules]
    own = {name: [v for v in vars(import_module(name)).values() if isinstance(v, type)] for name in declared}
    (connection,) = info["connection-types"]
    module, _, name = connection["hook-class-name"].rpartition(".")
    hook = getattr(import_module(module), name)

    assert all(classes for classes in own.values())
    for name, base in {"operators": BaseOperator, "sensors": BaseSensorOperator, "triggers": BaseTrigger}.items():
        assert all(any(issubclass(cls, base) for cls in own[module]) for module in sections[name])
    assert issubclass(hook, BaseHook)
    assert (hook.conn_type, hook.hook_name) == (connection["connection-type"], connection["hook-name"])


@pytest.mark.parametrize(
    ("section", "base"),
    [("hooks", BaseHook), ("operators", BaseOperator), ("sensors", BaseSensorOperator), ("triggers", BaseTrigger)],
)
def test_the_registry_lists_every_class(section: str, base: type) -> None:
    """The registry's file names each public class of the declared modules, and no other."""
    registry = yaml.safe_load((_ROOT / ".astro-registry.yaml").read_text())
    modules = get_provider_info()[section][0]["python-modules"]
    classes = {f"{m}.{name}" for m in modules for name, cls in _own(m).items() if issubclass(cls, base)}

    assert {entry["module"] for entry in registry[section]} == classes
    assert registry["package-name"] == get_provider_info()["package-name"]


def test_the_registry_lists_the_decorator() -> None:
    """It makes task groups: as a decorator of tasks, which make one operator each, Airflow could not load it."""
    (entry,) = yaml.safe_load((_ROOT / ".astro-registry.yaml").read_text())["decorators"]
    module, _, name = entry["module"].rpartition(".")

    assert getattr(import_module(module), name).__name__ == name
    assert "task-decorators" not in get_provider_info()


def _own(module: str) -> dict[str, type]:
    found = vars(import_module(module)).items()
    return {n: v for n, v in found if isinstance(v, type) and v.__module__ == module and not n.startswith("_")}


def test_parsing_a_dag_imports_nothing_heavy() -> None:
    """The DAG processor imports the operators at every parse: no Spark, no Arrow, no SQL of ours, no NumPy."""
    program = (
        "import sys; import airflow.sdk; before = set(sys.modules);"
        "import airflow_provider_blockread.decorators, airflow_provider_blockread.sensors.new_files;"
        "print(*sorted({m.partition('.')[0] for m in set(sys.modules) - before}))"
    )
    heavy = {"alembic", "fsspec", "numpy", "pandas", "pyarrow", "pyspark", "sqlalchemy"}
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert heavy.isdisjoint(result.stdout.split())


def test_the_example_dag_has_the_groups_that_it_describes() -> None:
    """The DAG of `dags/` loads without files, connections or variables."""
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(_ROOT / "dags" / "blockread_demo.py")
    tasks = bag.dags["blockread_demo"].task_ids

    assert not bag.import_errors
    assert set(tasks) == {f"{g}.{t}" for g in ("log_lines", "events", "reports") for t in ("plan", "read", "commit")}


def test_the_example_of_waiting_loads() -> None:
    """A sensor before one pipeline, a watched asset as the schedule of another; both go through Airflow's JSON."""
    from airflow.dag_processing.dagbag import DagBag
    from airflow.serialization.serialized_objects import DagSerialization

    bag = DagBag(_ROOT / "dags" / "blockread_watch.py")
    waits = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(bag.dags["blockread_waits"]))

    assert not bag.import_errors
    assert waits.get_task("arrived").downstream_task_ids == {"log_lines.plan"}
    assert "new_logs" in json.dumps(DagSerialization.to_dict(bag.dags["blockread_watches"]))


def test_airflow_blockread_hands_on_all_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    """Options after the first word are the program's own, not Airflow's."""
    (command,) = cli_commands()
    parser = argparse.ArgumentParser()
    for argument in command.args:
        argument.add_to_parser(parser)
    with pytest.raises(SystemExit) as ended:
        command.func(parser.parse_args(["plan", "--help"]))

    assert ended.value.code == 0
    assert "--block-size" in capsys.readouterr().out
