"""Result files and job specifications: small JSON files of one attempt, in the attempt's folder of the work area."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, NoReturn

from airflow_provider_blockread.errors import ExchangeError, OptionsError
from airflow_provider_blockread.exchange.files import (
    SPECIFICATION,
    content_hash,
    parse_json,
    read_checked,
    read_required,
    remedy,
)
from airflow_provider_blockread.exchange.model import (
    FieldIds,
    GroupResult,
    JobSpec,
    OutputFile,
    ReadSpec,
    ScanSpec,
    Submission,
    Target,
)
from airflow_provider_blockread.exchange.seals import fields_of, sealed, unsealed
from airflow_provider_blockread.options import GenerationOptions
from airflow_provider_blockread.options.functions import with_code
from airflow_provider_blockread.storage.stores import Stores

if TYPE_CHECKING:
    import pyarrow as pa

RESULT_NAME = "result.json"
RECEIPTS_NAME = "receipts.parquet"
SPEC_NAME = "job.json"
_NAME = "result"
_WHAT = "result file"
_SPECS: dict[str, type[ReadSpec | ScanSpec]] = {spec.kind: spec for spec in (ReadSpec, ScanSpec)}


def write_spec(stores: Stores, spec: JobSpec, *, secret: str = "", window_secret: str = "") -> Submission:
    """Write the specification of a job and return its submission, under these secrets."""
    uri = f"{spec.folder}/{SPEC_NAME}"
    fields = {f.name: getattr(spec, f.name) for f in dataclasses.fields(spec)}
    fields |= {"kind": spec.kind, "options": spec.options.to_json()}
    data = json.dumps(fields, indent=1, sort_keys=True, default=dataclasses.asdict).encode()
    stores.write_bytes_atomic(uri, data)
    return Submission(
        spec_uri=uri, spec_hash=content_hash(data), readers=spec.readers, secret=secret, window_secret=window_secret
    )


def read_spec(stores: Stores, submission: Submission) -> ReadSpec | ScanSpec:
    """Return the job specification that was submitted.

    Raises:
        ExchangeError: when it is missing, was replaced, or is not a job specification of this version.
    """
    uri = submission.spec_uri
    data = parse_json(read_checked(stores, uri, submission.spec_hash, SPECIFICATION), uri, SPECIFICATION)
    try:
        options = GenerationOptions.from_json(data.pop("options"))
        states = tuple((file, state) for file, state in data["part_states"])
        spec = _SPECS[data.pop("kind")]
        if "target" in data:
            data["target"] = _target(data["target"])
        options = dataclasses.replace(options, function=with_code(options.function, submission.code))
        return spec(**data | {"options": options, "excluded": tuple(data["excluded"]), "part_states": states})
    except (KeyError, TypeError, ValueError, OptionsError) as error:
        _refuse(SPECIFICATION, uri, error)


def write_result(stores: Stores, submission: Submission, result: GroupResult) -> None:
    """Write an attempt's result, which marks it as finished."""
    data = sealed(_NAME, dataclasses.asdict(result), secret=submission.secret, bound=submission.spec_hash)
    stores.write_bytes_atomic(f"{submission.folder}/{RESULT_NAME}", data)


def accept_result(stores: Stores, submission: Submission) -> tuple[GroupResult, str, str]:
    """Return the result that the application of a submission wrote, its file, and the hash to read it with later.

    Raises:
        ExchangeError: when it is missing, was written by another program, or is not a result of this version.
    """
    uri = f"{submission.folder}/{RESULT_NAME}"
    data = read_required(stores, uri, _WHAT)
    fields = unsealed(_NAME, data, secret=submission.secret, bound=submission.spec_hash)
    if fields is None:
        msg = f"{_WHAT} {uri} was not written by the application of this attempt; {remedy(_WHAT)}"
        raise ExchangeError(msg)
    return _result(fields, uri), uri, content_hash(data)


def read_result(stores: Stores, uri: str, expected_hash: str) -> GroupResult:
    """Return a result that was accepted.

    Raises:
        ExchangeError: when it is missing, or has changed since.
    """
    found = fields_of(_NAME, read_checked(stores, uri, expected_hash, _WHAT))
    return _result({} if found is None else found[0], uri)


def _result(fields: dict[str, Any], uri: str) -> GroupResult:
    try:
        for name in ("outputs", "quarantined"):
            fields[name] = tuple(OutputFile(**output) for output in fields[name])
        return GroupResult(**fields)
    except (KeyError, TypeError) as error:
        _refuse(_WHAT, uri, error)


def _target(fields: dict[str, Any]) -> Target:
    ids = fields.pop("field_ids")
    return Target(**fields | {"columns": tuple(fields["columns"])}, field_ids=ids and FieldIds(**ids))


def _refuse(what: str, uri: str, error: Exception) -> NoReturn:
    msg = (
        f"{what} {uri} is not one of this version ({error}); use one version of this package on Airflow and Spark,"
        " then clear the group's task"
    )
    raise ExchangeError(msg) from error


def columns_text(schema: pa.Schema) -> str:
    """Return the columns of an output as text for its result: JSON, as a column's name may contain anything."""
    return json.dumps([(field.name, f"{field.type}{'' if field.nullable else ' not null'}") for field in schema])


def columns_of(text: str) -> list[tuple[str, str]]:
    """Return the names and types of the columns in a result's text, none if that is empty."""
    return [(name, kind) for name, kind in json.loads(text or "[]")]
