"""Training on an existing engine: partitions on workers, rounds joined by an exact line search.

Nothing here imports an engine before one is asked for.
"""

from typing import TYPE_CHECKING

from structlearn.core.imports import names_of

if TYPE_CHECKING:
    from structlearn.distributed.connection import connected
    from structlearn.distributed.driver import JoinedBlocks, JoinedExtragradient, aggregation_of
    from structlearn.distributed.engine import Engine, Lost
    from structlearn.distributed.partitions import Partitions, is_partitioned, open_partitions, split
    from structlearn.distributed.spread import SpreadObjective, spread_out
    from structlearn.distributed.worker import Worker, WorkerSpec

__all__ = [
    "Engine",
    "JoinedBlocks",
    "JoinedExtragradient",
    "Lost",
    "Partitions",
    "SpreadObjective",
    "Worker",
    "WorkerSpec",
    "aggregation_of",
    "connected",
    "is_partitioned",
    "open_partitions",
    "split",
    "spread_out",
]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "Engine": "engine",
        "JoinedBlocks": "driver",
        "JoinedExtragradient": "driver",
        "Lost": "engine",
        "Partitions": "partitions",
        "SpreadObjective": "spread",
        "Worker": "worker",
        "WorkerSpec": "worker",
        "aggregation_of": "driver",
        "connected": "connection",
        "is_partitioned": "partitions",
        "open_partitions": "partitions",
        "split": "partitions",
        "spread_out": "spread",
    },
)
