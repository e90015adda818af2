"""The tables and pictures of docs/scale.md, made of what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from benchmarks._results import svg
from benchmarks.scale.checks import Check
from benchmarks.scale.measured import Measurement
from benchmarks.scale.model import (
    CORE_MAX,
    FULL,
    FULL_HTTP2,
    Demand,
    Slopes,
    call_p99_ms,
    demand,
    grouped,
    of_each,
    servers_needed,
    share_at,
)
from proreus.server.watch_cache.history import WINDOW_S

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "scale.md"
IMAGES = DOCS / "images"
_NAMESPACES = 50
_MEMORY_MB = 16_000
_SLICE_B = 10_000
_FULL_CORE = "missed: its core is full"
_MARK = "<!-- {name}: {edge}, made by python -m benchmarks.scale --model -->"
_COMPARED = (
    ("memory, MB", "memory_mb"),
    ("CPU, cores", "cores"),
    ("received, MB/s", "in_mb_per_s"),
    ("sent, MB/s", "out_mb_per_s"),
    ("database, MB", "stored_mb"),
)


def updated(page: str, measurement: Measurement) -> str:
    """The page with its tables made anew, between their marks."""
    for name, text in tables(measurement).items():
        begin, end = (_MARK.format(name=name, edge=edge) for edge in ("begin", "end"))
        before, found_begin, rest = page.partition(begin)
        _, found_end, after = rest.partition(end)
        assert found_begin and found_end, f"{PAGE} has no place for {name}"
        page = f"{before}{begin}\n\n{text}\n\n{end}{after}"
    return page


def tables(measurement: Measurement) -> dict[str, str]:
    slopes = measurement.measured.slopes
    return {
        "slopes": _slopes_table(measurement),
        "checks": _checks_table(measurement.checks, slopes),
        "latencies": _latencies_table(measurement.checks),
        "demand": _demand_table(measurement),
        "servers": _servers_table(measurement),
        "objectives": _objectives_table(measurement),
        "limits": _limits_table(measurement),
    }


def pictures(measurement: Measurement) -> dict[str, str]:
    """By file name: predictions are lines, runs are dots, as long as these ran in their colour."""
    checks, alone = measurement.checks, measurement.measured.slopes
    shares = [1 / 200, *(check.share for check in checks), 0.2, 0.5, 1.0]
    run_s = checks[-1].run_s

    def picture(title: str, unit: str, field: str, others: dict[str, Slopes]) -> str:
        def line(name: str, slopes: Slopes, ran_s: float) -> svg.Line:
            predicted = ((s, demand(FULL.scaled(s), slopes, ran_s)) for s in shares)
            return svg.Line(name, [(FULL.nodes * s, _figure(one, field)) for s, one in predicted])

        dots = [(FULL.nodes * check.share, float(getattr(check, field))) for check in checks]
        ran = f"as run: for {run_s:.0f} s"
        drawn = [line(ran, alone, run_s), svg.Line(ran, dots, is_joined=False)]
        drawn += [line(name, slopes, math.inf) for name, slopes in others.items()]
        return svg.lines(title, svg.Axes("nodes", unit, is_logarithmic=True), drawn)

    together = {"writes with others": _together(measurement)}
    return {
        "scale-memory.svg": picture("Memory", "MB", "memory_mb", {"for ever": alone}),
        "scale-cpu.svg": picture("CPU", "cores", "cores", together),
        "scale-sent.svg": picture("Sent", "MB/s", "out_mb_per_s", {}),
    }


def _slopes_table(measurement: Measurement) -> str:
    slopes, shared = measurement.measured.slopes, measurement.shared
    together = measurement.measured.grouped_ms
    kinds = (("pod", "a pod's status", slopes.pod_change), ("lease", "a lease", slopes.lease),
             ("status", "a node's status", slopes.status))  # fmt: skip
    rows = [
        ("an idle server", f"{slopes.idle_mb:.0f} MB, {slopes.idle_cores:.4f} cores"),
        ("a pod of 4 kB", f"{slopes.pod_b:,.0f} B of memory, {slopes.stored_pod_b:,.0f} B stored"),
        ("a node and its lease", f"{slopes.node_b:,.0f} B, {slopes.stored_node_b:,.0f} B stored"),
        ("a connection", f"{slopes.connection_b:,.0f} B, {slopes.handshake_ms:.2f} ms of CPU"),
        ("a watch on it", f"{slopes.watch_b:,.0f} B"),
        *(
            (
                f"writing {what}",
                f"{write.cpu_ms:.2f} ms alone, {together[kind]:.2f} ms with others; "
                f"{write.in_b:,.0f} B received, {write.out_b:,.0f} B sent, "
                f"{write.remembered_b:,.0f} B remembered, {write.stored_b:,.0f} B stored",
            )
            for kind, what, write in kinds
        ),
        ("an event to a watcher", f"{slopes.delivery_us:.1f} µs, {slopes.event_b:,.0f} B sent"),
        ("a pod in a list", f"{slopes.list_us_per_pod:.1f} µs, {slopes.list_b_per_pod:,.0f} B"),
        ("a pod's status, on etcd", f"{shared.write_ms:.2f} ms with others, "
                                    f"{shared.follow_ms:.2f} ms at every other server, "
                                    f"{shared.etcd_ms:.2f} ms at etcd"),
    ]  # fmt: skip
    return _table(("One more", "costs"), rows)


def _checks_table(checks: Sequence[Check], slopes: Slopes) -> str:
    rows = []
    for check in checks:
        cluster = FULL.scaled(check.share)
        predicted = demand(cluster, slopes, check.run_s)
        for name, field in _COMPARED:
            ours, theirs = _figure(predicted, field), getattr(check, field)
            size = f"{check.share:.0%}: {cluster.nodes:,} nodes, {cluster.pods:,} pods"
            error = f"{ours / theirs - 1:+.0%}"
            rows.append((size, name, f"{ours:.3g}", f"{theirs:.3g}", error))
    return _table(("Size", "", "Predicted", "Measured", "Error"), rows)


def _latencies_table(checks: Sequence[Check]) -> str:
    rows = [
        (
            f"{check.share:.0%}",
            f"{check.call_p50_ms:,.0f}, {check.call_p99_ms:,.0f} ms",
            f"{check.event_p50_ms:,.0f}, {check.event_p99_ms:,.0f} ms",
            f"{check.list_s:.2f} s",
            f"{check.load:.0f}",
        )
        for check in checks
    ]
    return _table(("Size", "Write: p50, p99", "Event: p50, p99", "List of all pods", "Load"), rows)


def _demand_table(measurement: Measurement) -> str:
    slopes = measurement.measured.slopes
    full, together = demand(FULL, slopes), demand(FULL, _together(measurement))
    bare = demand(FULL, slopes, run_s=0.0)
    connections_mb = (FULL.connections * slopes.connection_b + FULL.watches * slopes.watch_b) / 1e6
    rows = [
        ("memory", f"{full.memory_mb / 1e3:.1f} GB"),
        ("… pods", f"{FULL.pods * slopes.pod_b / 1e9:.1f} GB"),
        ("… changes that watches can be resumed over",
         f"{(full.memory_mb - bare.memory_mb) / 1e3:.1f} GB"),
        (f"… {FULL.connections:,} connections, {FULL.watches:,} of them watches",
         f"{connections_mb / 1e3:.1f} GB"),
        (f"CPU of {FULL.writes_per_s:,.0f} writes/s, {FULL.deliveries_per_s:,.0f} events/s, "
         "writes with others", f"{together.cores:.2f} cores"),
        ("… if each were alone", f"{full.cores:.2f} cores"),
        ("… of it heartbeats", f"{_heartbeats(together, _together(measurement)):.2f} cores"),
        ("received, sent", f"{full.in_mb_per_s:.1f}, {full.out_mb_per_s:.0f} MB/s"),
        ("database, with ten minutes of history", f"{full.stored_mb / 1e3:.1f} GB"),
        ("… of it live objects",
         f"{(FULL.pods * slopes.stored_pod_b + FULL.nodes * slopes.stored_node_b) / 1e9:.1f} GB"),
        ("one event to every node, such as an EndpointSlice of 10 kB to kube-proxy",
         f"{FULL.nodes * slopes.delivery_us / 1e3:.0f} ms, {FULL.nodes * _SLICE_B / 1e6:.0f} MB"),
    ]  # fmt: skip
    return _table(("One server with all of it", ""), rows)


def _servers_table(measurement: Measurement) -> str:
    slopes, shared = _together(measurement), measurement.shared
    rows = []
    for servers in (1, 2, 3, 5):
        each = of_each(FULL, slopes, shared, servers)
        rows.append(
            (
                str(servers),
                f"{each.cores:.2f}",
                f"{each.memory_mb / 1e3:.1f} GB",
                f"{each.out_mb_per_s:.0f} MB/s",
                f"{each.reconnect_s:.0f} s",
            )
        )
    needed = servers_needed(FULL, slopes, shared)
    etcd = FULL.writes_per_s * shared.etcd_ms / 1e3
    said = f"{needed} servers" if needed else "no number of servers"
    return (
        _table(("Servers on etcd", "Cores, each", "Memory, each", "Sent, each", "Reconnect"), rows)
        + f"\n\nWith at most {CORE_MAX:g} of a core used on each while one is away: {said}. "
        f"etcd takes {etcd:.2f} cores."
    )


def _objectives_table(measurement: Measurement) -> str:
    slopes = _together(measurement)
    full = demand(FULL, slopes)
    one = call_p99_ms(full.cores, slopes.pod_change.cpu_ms)
    left = max(0.0, 1 - full.cores)
    in_namespace = full.cluster_list_s / _NAMESPACES
    each = of_each(FULL, slopes, measurement.shared, 3)
    shared_ms = call_p99_ms(each.cores, measurement.shared.write_ms)
    rows = [
        ("single-object calls, p99", "1 s", _time(one / 1e3), _time(shared_ms / 1e3)),
        (f"list of a namespace (one of {_NAMESPACES})", "5 s", _during(in_namespace, left),
         _during(in_namespace, 1 - each.cores)),
        (f"list of all {FULL.pods:,} pods", "30 s", _during(full.cluster_list_s, left),
         _during(full.cluster_list_s, 1 - each.cores)),
        ("pod start: four writes and three events, server's part", "5 s", _time(7 * one / 1e3),
         _time(7 * shared_ms / 1e3)),
    ]  # fmt: skip
    return _table(("Objective", "Bar", "One server on SQLite", "Each of three on etcd"), rows)


def _limits_table(measurement: Measurement) -> str:
    """What is reached first comes first."""
    slopes = _together(measurement)
    full, nothing = demand(FULL, slopes), demand(FULL.scaled(0), slopes)
    over_http2 = demand(FULL_HTTP2, slopes)
    limits = [
        (_resumable_share(full),
         "`resumable` after a restart: all reconnect within what the new server recalls",
         f"{full.reconnect_s:.0f} s to reconnect, {full.window_at_start_s:.1f} s recalled"),
        (_resumable_share(over_http2),
         "`resumable` after a restart, over HTTP/2, if its handshakes cost as much",
         f"{over_http2.reconnect_s:.1f} s, {over_http2.window_at_start_s:.1f} s"),
        (share_at(CORE_MAX, full.cores, nothing.cores),
         f"single-object calls within 1 s: {CORE_MAX:.0%} of a core is used",
         f"{full.cores:.2f} cores"),
        (full.window_s / WINDOW_S,
         f"`resumable` while it runs: the window is at least {WINDOW_S:g} s",
         f"{full.window_s:.0f} s"),
        (share_at(_MEMORY_MB, full.memory_mb, nothing.memory_mb),
         f"{_MEMORY_MB / 1e3:.0f} GB of memory", f"{full.memory_mb / 1e3:.1f} GB"),
    ]  # fmt: skip
    rows = [(what, at_full, f"{share:.0%}") for share, what, at_full in sorted(limits)]
    return _table(("Limit", "At the whole size", "Reached at this share of it"), rows)


def _resumable_share(full: Demand) -> float:
    """Reconnecting grows with the size and what is recalled shrinks with it."""
    return float((full.window_at_start_s / full.reconnect_s) ** 0.5)


def _heartbeats(full: Demand, slopes: Slopes) -> float:
    leases = FULL.leases_per_s * slopes.lease.cpu_ms
    return (leases + FULL.statuses_per_s * slopes.status.cpu_ms) / 1e3


def _together(measurement: Measurement) -> Slopes:
    return grouped(measurement.measured.slopes, measurement.measured.grouped_ms)


def _figure(predicted: Demand, field: str) -> float:
    return float(getattr(predicted, field))


def _during(seconds: float, left: float) -> str:
    """So much work, while the rest of the load goes on."""
    return _time(seconds / left) if left > 0 else _FULL_CORE


def _time(seconds: float) -> str:
    if seconds == float("inf"):
        return _FULL_CORE
    return f"{seconds * 1e3:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
