"""Queues of storage events: a small protocol, with Amazon SQS and Azure's storage queues behind it."""

from __future__ import annotations

from airflow_provider_blockread.hooks.queues.azure import AzureQueue
from airflow_provider_blockread.hooks.queues.opening import open_queue
from airflow_provider_blockread.hooks.queues.protocol import HintQueue, Message
from airflow_provider_blockread.hooks.queues.sqs import SqsQueue

__all__ = ["AzureQueue", "HintQueue", "Message", "SqsQueue", "open_queue"]
