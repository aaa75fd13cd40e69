"""The proof: a generation's receipts cover every file without gap or overlap, and its output is what was read.

Receipts come in block order, group after group, as the manifest lists the blocks, so one pass over both is enough, and
only the current file is held in memory. `next_start` is found by walking past a block's end, and `first_start` of the
next block from the raw offset: if the two agree, no record was lost or read twice at the border. The first block of a
compressed file reads all of it, in decoded bytes, and consumes every compressed byte; later blocks of an older plan
read nothing.
"""

from __future__ import annotations

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.proof.model import Evidence, FileSums, PartBorders, Sums
from airflow_provider_blockread.proof.outputs import check_outputs
from airflow_provider_blockread.proof.receipts import Chain

__all__ = ["Evidence", "FileSums", "PartBorders", "ProofError", "Sums", "prove"]


def prove(evidence: Evidence) -> Sums:
    """Return the sums of what was read, or refuse.

    Raises:
        ProofError: naming the feed's window, the file, the block and the byte offset at which the proof fails.
    """
    chain = Chain(evidence)
    receipts = (receipt for result in evidence.results for receipt in evidence.receipts(result))
    for block, now in evidence.blocks:
        chain.add(block, next(receipts, None), now)
    if (extra := next(receipts, None)) is not None:
        chain.refuse(f"a receipt of block {extra.block} is left over: it was read twice or never planned")
    chain.finish()
    chain.hand_over()
    chain.check_bad_records()
    return chain.sums(rows=check_outputs(evidence, chain))
