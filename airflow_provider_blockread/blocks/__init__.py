"""Blocks: what is read, cut into ranges and packed into groups. Standard library only."""

from __future__ import annotations

from airflow_provider_blockread.blocks.group import GroupLimits, iter_blocks, iter_ranges
from airflow_provider_blockread.blocks.model import Block, BlockGroup, FileVersion
from airflow_provider_blockread.blocks.sizing import AutoSize

__all__ = ["AutoSize", "Block", "BlockGroup", "FileVersion", "GroupLimits", "iter_blocks", "iter_ranges"]
