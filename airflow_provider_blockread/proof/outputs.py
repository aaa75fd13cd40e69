"""Checks outputs against the receipts: the written files themselves count as many rows as were written to them."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_blockread.errors import FileMissingError, ProofError, SourceError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.proof.model import Count, Evidence
from airflow_provider_blockread.proof.receipts import Chain


def check_outputs(evidence: Evidence, chain: Chain) -> int:
    """Return the number of rows in the output, or refuse files whose own count differs from what tasks reported.

    A verification has no output; its number of rows is the one that resulted from its records.

    Raises:
        ProofError: naming the file.
    """
    if not evidence.writes:
        return chain.rows_out
    outputs = [output for result in evidence.results for output in result.outputs]
    if len({output.uri for output in outputs}) != len(outputs):
        chain.refuse("an output file is named twice")
    schemas = sorted({result.schema for result in evidence.results if result.schema})
    if len(schemas) > 1:
        chain.refuse(
            f"groups wrote different schemas, {schemas[0]!r} and {schemas[1]!r}; let the function return the same"
            " columns and types always"
        )
    held = _check_files(chain, outputs, evidence.count)
    if evidence.function.rows_out != "written" and held != chain.rows_out:
        handed = plural(chain.rows_out, "row was", "rows were")
        chain.refuse(f"{handed} handed to the writers, but the output files hold {held}")
    quarantined = [output for result in evidence.results for output in result.quarantined]
    kept = _check_files(chain, quarantined, evidence.count_bad)
    bad = chain.bad_records
    if evidence.policies.on_bad_record == "quarantine" and kept != bad:
        chain.refuse(f"{plural(bad, 'record is', 'records are')} bad, but the quarantine holds {kept}")
    return held


def _check_files(chain: Chain, outputs: Sequence[OutputFile], count: Count) -> int:
    """Return the number of rows that the files themselves count."""
    counted, held = count(outputs), 0
    for output in outputs:
        try:
            size, rows = next(counted)
        except FileMissingError:
            chain.refuse(f"output file {output.uri} cannot be counted: it is missing")
        except (SourceError, ProofError) as error:
            chain.refuse(f"output file {output.uri} cannot be counted: {error}")
        if size != output.size or rows != output.rows:
            written = f"{output.rows} in {output.size} were written"
            chain.refuse(f"output file {output.uri} holds {rows} rows in {size} bytes, {written}")
        held += rows
    return held
