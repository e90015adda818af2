"""The flow of a request: its schema, its level at work, and what is counted of both."""

from __future__ import annotations

from dataclasses import field

from proreus.lazy_dataclass import dataclass
from proreus.server.fairness.concurrency import Bounds, SeatDemand
from proreus.server.fairness.flow_schemas import FlowSchema
from proreus.server.fairness.priority_level import PriorityLevel
from proreus.server.fairness.queues import LevelSeats
from proreus.server.fairness.shuffle_sharding import flow_hash
from proreus.server.histogram import BucketCounts

_BUCKETS_S = (0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0)
_DEMAND_BUCKETS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.7, 2.0, 2.8, 4.0, 6.0)
_PART_BUCKETS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)


@dataclass(slots=True, eq=False)
class ServedLevel:
    """A level at work. ``seats`` has what waits and works; an exempt one only counts."""

    config: PriorityLevel
    seats: LevelSeats
    bounds: Bounds
    wanted: SeatDemand = SeatDemand(0, 0.0)  # in the period before
    demand: BucketCounts = field(default_factory=lambda: BucketCounts(_DEMAND_BUCKETS))
    utilization: BucketCounts = field(default_factory=lambda: BucketCounts(_PART_BUCKETS))


@dataclass(slots=True, eq=False)
class SchemaCounts:
    """Requests of one schema since the server began. ``vain_wait_s``: of those refused then."""

    dispatched: int = 0
    rejected: int = 0
    timed_out: int = 0
    executing: int = 0
    seats: int = 0
    waiting: int = 0
    waiting_seats: int = 0
    wait_s: BucketCounts = field(default_factory=lambda: BucketCounts(_BUCKETS_S))
    vain_wait_s: BucketCounts = field(default_factory=lambda: BucketCounts(_BUCKETS_S))
    execution_s: BucketCounts = field(default_factory=lambda: BucketCounts(_BUCKETS_S))
    watch_s: BucketCounts = field(default_factory=lambda: BucketCounts(_BUCKETS_S))


@dataclass(slots=True, eq=False)
class RequestFlow:
    """Requests that are served as one: those of a schema with the same distinguisher."""

    schema: FlowSchema
    level: ServedLevel
    name: str
    counts: SchemaCounts
    headers: tuple[tuple[str, str], ...]

    def hashed(self) -> int:
        return flow_hash(self.schema.name, self.name)
