"""What a cluster asks of its API servers, from its size and measured slopes. Pure.

Everything is linear in what causes it, but for two bounds of the server: a watch cache remembers
changes in a ring (``watch_cache/history``), and the store drops history after the compaction
interval. docs/scale.md says which slopes were measured, and how far the predictions were off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from proreus.server.watch_cache.history import CAPACITY_MAX, CAPACITY_MIN, WINDOW_S
from proreus.server.watch_cache.recall import CHANGES_MAX

# Of watch_cache/recall: what a watch can be resumed over at a server that was started after it.
RECALLED_B_MAX = 32 * 1024 * 1024
# Of storage/sqlite: pages that are kept in memory.
PAGE_CACHE_MB = 64 * 1024 * 1024 / 1e6
# The past is kept for the compaction interval, and up to twice as long.
HISTORY_S = 2 * 300.0
# A core is full here: above it, waiting in line takes more time than working.
CORE_MAX = 0.7


@dataclass(frozen=True, slots=True)
class Cluster:
    """A load. Each node has a connection for its requests and one per watch (HTTP/1.1), or one for
    all (HTTP/2); ``followers`` watch all pods: scheduler, controllers, whoever else."""

    nodes: int
    pods: int
    pod_changes_per_s: float
    lease_period_s: float = 10.0
    status_period_s: float = 300.0
    watches_per_node: int = 3
    connections_per_node: int = 4
    followers: int = 5

    @property
    def leases_per_s(self) -> float:
        return self.nodes / self.lease_period_s

    @property
    def statuses_per_s(self) -> float:
        return self.nodes / self.status_period_s

    @property
    def writes_per_s(self) -> float:
        return self.pod_changes_per_s + self.leases_per_s + self.statuses_per_s

    @property
    def watches(self) -> int:
        return self.nodes * self.watches_per_node + self.followers

    @property
    def connections(self) -> int:
        return self.nodes * self.connections_per_node + self.followers

    @property
    def deliveries_per_s(self) -> float:
        """A pod's change goes to its node and to every follower, a node's status to that node."""
        return self.pod_changes_per_s * (1 + self.followers) + self.statuses_per_s

    def scaled(self, share: float) -> Cluster:
        return replace(
            self,
            nodes=round(self.nodes * share),
            pods=round(self.pods * share),
            pod_changes_per_s=self.pod_changes_per_s * share,
        )


FULL = Cluster(nodes=5_000, pods=150_000, pod_changes_per_s=1_000.0)
FULL_HTTP2 = replace(FULL, connections_per_node=1)


@dataclass(frozen=True, slots=True)
class Write:
    """What one write of a kind costs, its event's delivery to nobody included."""

    cpu_ms: float
    in_b: float
    out_b: float
    remembered_b: float
    stored_b: float


@dataclass(frozen=True, slots=True)
class Slopes:
    """Measured on one server; bytes are those of HTTP, before TLS (0.2 %) and TCP/IP (3 %)."""

    idle_mb: float
    idle_cores: float
    idle_stored_mb: float
    pod_b: float
    node_b: float
    connection_b: float
    watch_b: float
    handshake_ms: float
    pod_change: Write
    lease: Write
    status: Write
    delivery_us: float
    event_b: float
    stored_pod_b: float
    stored_node_b: float
    list_us_per_pod: float
    list_b_per_pod: float


@dataclass(frozen=True, slots=True)
class SharedSlopes:
    """On etcd, CPU of a change of a pod: at the server that writes it, at every other server, and
    at etcd."""

    write_ms: float
    follow_ms: float
    etcd_ms: float


@dataclass(frozen=True, slots=True)
class Demand:
    """What one server needs, and what follows for its users."""

    memory_mb: float
    cores: float
    in_mb_per_s: float
    out_mb_per_s: float
    stored_mb: float
    cluster_list_s: float
    reconnect_s: float
    window_s: float
    window_at_start_s: float


def remembered(changes_per_s: float, run_s: float) -> float:
    """How many changes of a kind are in its ring after so long."""
    return min(changes_per_s * run_s, ring(changes_per_s)) if changes_per_s else 0.0


def ring(changes_per_s: float) -> int:
    """The ring doubles while a full one spans less than the window."""
    capacity = CAPACITY_MIN
    while capacity < CAPACITY_MAX and capacity < changes_per_s * WINDOW_S:
        capacity *= 2
    return min(capacity, CAPACITY_MAX)


def demand(cluster: Cluster, slopes: Slopes, run_s: float = math.inf) -> Demand:
    """Of one server that serves all of it, after ``run_s`` of this load; for ever by default."""
    kinds = (
        (cluster.pod_changes_per_s, slopes.pod_change),
        (cluster.leases_per_s, slopes.lease),
        (cluster.statuses_per_s, slopes.status),
    )
    memory_b = (
        cluster.pods * slopes.pod_b
        + cluster.nodes * slopes.node_b
        + cluster.connections * slopes.connection_b
        + cluster.watches * slopes.watch_b
        + sum(remembered(rate, run_s) * write.remembered_b for rate, write in kinds)
    )
    cores = (
        slopes.idle_cores
        + sum(rate * write.cpu_ms for rate, write in kinds) / 1e3
        + cluster.deliveries_per_s * slopes.delivery_us / 1e6
    )
    written_b = min(run_s, HISTORY_S) * sum(rate * write.stored_b for rate, write in kinds)
    live_b = cluster.pods * slopes.stored_pod_b + cluster.nodes * slopes.stored_node_b
    events_b = cluster.deliveries_per_s * slopes.event_b
    stored_mb = slopes.idle_stored_mb + (live_b + written_b) / 1e6
    pod_changes = cluster.pod_changes_per_s
    recalled = min(CHANGES_MAX, RECALLED_B_MAX / slopes.event_b)
    return Demand(
        memory_mb=slopes.idle_mb + memory_b / 1e6 + cached_mb(stored_mb),
        cores=cores,
        in_mb_per_s=sum(rate * write.in_b for rate, write in kinds) / 1e6,
        out_mb_per_s=(sum(rate * write.out_b for rate, write in kinds) + events_b) / 1e6,
        stored_mb=stored_mb,
        cluster_list_s=cluster.pods * slopes.list_us_per_pod / 1e6,
        reconnect_s=cluster.connections * slopes.handshake_ms / 1e3,
        window_s=min(ring(pod_changes) / pod_changes, HISTORY_S) if pod_changes else math.inf,
        window_at_start_s=recalled / pod_changes if pod_changes else math.inf,
    )


def grouped(slopes: Slopes, cpu_ms: dict[str, float]) -> Slopes:
    """The same where many writes wait at once and share commits, as under a full load."""
    return replace(
        slopes,
        pod_change=replace(slopes.pod_change, cpu_ms=cpu_ms["pod"]),
        lease=replace(slopes.lease, cpu_ms=cpu_ms["lease"]),
        status=replace(slopes.status, cpu_ms=cpu_ms["status"]),
    )


def of_each(cluster: Cluster, slopes: Slopes, shared: SharedSlopes, servers: int) -> Demand:
    """Of one of several servers on one etcd. Each has every object and sees every change; writes,
    connections and deliveries are shared evenly. The database is etcd's."""
    alone = demand(cluster, slopes)
    extra_ms = shared.write_ms - slopes.pod_change.cpu_ms
    connections_b = cluster.connections * slopes.connection_b + cluster.watches * slopes.watch_b
    elsewhere = 1 - 1 / servers
    own_cores = alone.cores - slopes.idle_cores + cluster.writes_per_s * extra_ms / 1e3
    return replace(
        alone,
        memory_mb=alone.memory_mb - elsewhere * connections_b / 1e6 - cached_mb(alone.stored_mb),
        cores=slopes.idle_cores
        + own_cores / servers
        + elsewhere * cluster.writes_per_s * shared.follow_ms / 1e3,
        in_mb_per_s=alone.in_mb_per_s / servers,
        out_mb_per_s=alone.out_mb_per_s / servers,
        stored_mb=0.0,
        reconnect_s=alone.reconnect_s / servers,
    )


def servers_needed(cluster: Cluster, slopes: Slopes, shared: SharedSlopes) -> int:
    """The fewest that keep their cores below the limit while one is away; 0: no number does."""
    for servers in range(1, 65):
        if of_each(cluster, slopes, shared, servers).cores <= CORE_MAX:
            return servers + 1
    return 0


def call_p99_ms(cores: float, service_ms: float) -> float:
    """Of a call that waits in line for one core: service times alike, arrivals at random (M/D/1),
    the wait's tail taken as exponential."""
    if cores >= 1:
        return math.inf
    return service_ms + math.log(100) * service_ms * cores / (2 * (1 - cores))


def cached_mb(stored_mb: float) -> float:
    """Of a database of this size: the pages that are in memory."""
    return min(stored_mb, PAGE_CACHE_MB)


def share_at(limit: float, figure: float, at_nothing: float) -> float:
    """At which share of a size a figure reaches its limit; ``figure`` is that of the whole."""
    grown = figure - at_nothing
    return (limit - at_nothing) / grown if grown > 0 else math.inf
