"""What errors of a PostgreSQL server and its driver mean for a commit, by the class of their SQLSTATE."""

from __future__ import annotations

import re

from adbc_driver_manager import Error

from airflow_provider_blockread.errors import OptionsError, ProofError, TransientError
from airflow_provider_blockread.sinks.tables.format import TableChangedError

_LOST_RACE = {"40001", "40P01", "42P06", "42P07", "42P01"}  # serialization, deadlock; created or dropped meanwhile
_MADE_MEANWHILE = ("pg_type_typname_nsp_index", "pg_namespace_nspname_index")  # a table or schema, by others
#: About values, constraints and limits; about columns that cannot be changed (in views or partition keys) or written
#: (generated ones); from triggers and functions of the table's owner, which have their own classes; and about what the
#: table is not prepared for, as deletions where a publication cannot name the rows.
_ROWS = ("22", "23", "54", "P0", "0A000", "42P10", "42P16", "428C9", "55000")
_SETUP = ("42", "28", "3D", "3F")  # about names, rights and databases
_DISK_FULL = "53100"
_TOOK_LONG = "57014"
#: What a server, or libpq about one, says without a code. Other words of libpq may quote a URL with its password.
_SAID = re.compile(r"(?:connection to server (?:at|on) |FATAL: ).*")


def explained(uri: str, error: Error) -> Exception:
    """Return the error to raise for an error of the driver in a commit to the table with this URI."""
    text = str(error).partition("ERROR:")[2] or str(error)  # the server's message, without the driver's additions
    code, why = error.sqlstate or "", text.strip().partition("\n")[0]
    if code in _LOST_RACE or any(index in str(error) for index in _MADE_MEANWHILE):
        return TableChangedError()
    if code.startswith(_ROWS):
        msg = f"{uri} does not take the rows ({why}); change the table, or the rows in the function, and retry"
        return ProofError(msg)
    if code.startswith(_SETUP):
        msg = f"{uri} refuses this account or what it asks for ({why}); grant what is missing, then retry"
        return OptionsError(msg)
    if code == _DISK_FULL:
        return TransientError(f"{uri}: the database's disk is full ({why}); free space there, then retry")
    if code == _TOOK_LONG:
        longer = "let it take longer (`ALTER ROLE ... SET statement_timeout ...`), then retry"
        return TransientError(f"{uri}: a statement took longer than this account may ({why}); {longer}")
    why = why if code else "; ".join(_SAID.findall(str(error))) or type(error).__name__
    msg = f"{uri}: the database cannot be reached or is not able to answer ({why}); retry when it is"
    return TransientError(msg)
