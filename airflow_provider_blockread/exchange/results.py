"""Result files and job specifications: small JSON files of one attempt, in the attempt's folder of the work area."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, NoReturn

from airflow_provider_blockread.errors import ExchangeError, OptionsError
from airflow_provider_blockread.exchange.files import content_hash, parse_json, read_checked, read_required
from airflow_provider_blockread.exchange.model import GroupResult, JobSpec, OutputFile
from airflow_provider_blockread.options import GenerationOptions
from airflow_provider_blockread.storage.stores import Stores

RESULT_NAME = "result.json"
RECEIPTS_NAME = "receipts.parquet"
SPEC_NAME = "job.json"


def write_spec(stores: Stores, spec: JobSpec) -> str:
    """Write what a Spark application is to do and return the file's URI."""
    uri = f"{spec.work_uri}/{SPEC_NAME}"
    fields = {f.name: getattr(spec, f.name) for f in dataclasses.fields(spec)}
    stores.write_bytes_atomic(uri, _dump(fields | {"options": spec.options.to_json()}))
    return uri


def read_spec(stores: Stores, uri: str) -> JobSpec:
    """Return the job specification at `uri`.

    Raises:
        ExchangeError: when it is missing or not a job specification of this version.
    """
    data = parse_json(read_required(stores, uri, "job specification"), uri, "job specification")
    try:
        options = GenerationOptions.from_json(data.pop("options"))
        states = tuple((file, state) for file, state in data["part_states"])
        return JobSpec(**data | {"options": options, "excluded": tuple(data["excluded"]), "part_states": states})
    except (KeyError, TypeError, ValueError, OptionsError) as error:
        _refuse("job specification", uri, error)


def write_result(stores: Stores, uri: str, result: GroupResult) -> str:
    """Write an attempt's result, the sign that it finished, and return the file's hash."""
    data = _dump(dataclasses.asdict(result))
    stores.write_bytes_atomic(uri, data)
    return content_hash(data)


def read_result(stores: Stores, uri: str, expected_hash: str | None = None) -> tuple[GroupResult, str]:
    """Return an attempt's result and its file's hash, after comparing it where one is expected.

    Raises:
        ExchangeError: when it is missing, corrupt, or not a result of this version.
    """
    what = "result file"
    data = read_required(stores, uri, what) if expected_hash is None else read_checked(stores, uri, expected_hash, what)
    fields = parse_json(data, uri, what)
    try:
        for name in ("outputs", "quarantined"):
            fields[name] = tuple(OutputFile(**output) for output in fields[name])
        return GroupResult(**fields), content_hash(data)
    except (KeyError, TypeError) as error:
        _refuse(what, uri, error)


def _dump(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, indent=1, sort_keys=True).encode()


def _refuse(what: str, uri: str, error: Exception) -> NoReturn:
    msg = (
        f"{what} {uri} is not one of this version ({error}); use one version of this package on Airflow and Spark,"
        " then clear the group's task"
    )
    raise ExchangeError(msg) from error
