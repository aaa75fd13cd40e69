"""Blocks: what is read, cut into ranges and packed into groups. Standard library only."""

from __future__ import annotations

from airflow_provider_blockread.blocks.group import GroupLimits, iter_blocks
from airflow_provider_blockread.blocks.model import Block, BlockGroup, FileVersion
from airflow_provider_blockread.blocks.sizing import AutoSize
from airflow_provider_blockread.blocks.split import iter_ranges

__all__ = ["AutoSize", "Block", "BlockGroup", "FileVersion", "GroupLimits", "iter_blocks", "iter_ranges"]
