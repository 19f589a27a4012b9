"""Training on an existing engine: partitions on workers, rounds joined by an exact line search.

Nothing here imports an engine before one is asked for.
"""

from structlearn.distributed.connection import connected
from structlearn.distributed.driver import JoinedBlocks, caution_of
from structlearn.distributed.engine import Engine, Lost
from structlearn.distributed.partitions import Partitions, is_partitioned, open_partitions, split
from structlearn.distributed.spread import SpreadObjective, spread_out
from structlearn.distributed.worker import Post, Worker

__all__ = [
    "Engine",
    "JoinedBlocks",
    "Lost",
    "Partitions",
    "Post",
    "SpreadObjective",
    "Worker",
    "caution_of",
    "connected",
    "is_partitioned",
    "open_partitions",
    "split",
    "spread_out",
]
