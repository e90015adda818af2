"""The model behind docs/scale.md."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from benchmarks.scale import measured, page
from benchmarks.scale.checks import SHARES, percentile
from benchmarks.scale.model import (
    CORE_MAX,
    FULL,
    FULL_HTTP2,
    PAGE_CACHE_MB,
    RECALLED_B_MAX,
    Cluster,
    SharedSlopes,
    Slopes,
    Write,
    call_p99_ms,
    demand,
    grouped,
    of_each,
    remembered,
    ring,
    servers_needed,
    share_at,
)
from proreus.server.storage.sqlite.statements import EACH_OPEN
from proreus.server.watch_cache import recall
from proreus.server.watch_cache.history import CAPACITY_MAX, WINDOW_S

WRITE = Write(cpu_ms=0.5, in_b=400, out_b=4_000, remembered_b=5_000, stored_b=4_000)
SLOPES = Slopes(
    idle_mb=60,
    idle_cores=0.001,
    idle_stored_mb=1,
    pod_b=5_000,
    node_b=10_000,
    connection_b=13_000,
    watch_b=10_000,
    handshake_ms=1.0,
    pod_change=WRITE,
    lease=replace(WRITE, cpu_ms=0.3, remembered_b=1_000, stored_b=800),
    status=WRITE,
    delivery_us=5.0,
    event_b=4_200,
    stored_pod_b=4_000,
    stored_node_b=7_000,
    list_us_per_pod=6.0,
    list_b_per_pod=4_100,
)
SHARED = SharedSlopes(write_ms=0.7, follow_ms=0.05, etcd_ms=0.3)


def test_the_whole_cluster_is_the_one_that_was_asked_for() -> None:
    assert (FULL.nodes, FULL.pods, FULL.pod_changes_per_s) == (5_000, 150_000, 1_000)
    assert FULL.leases_per_s == 500
    assert FULL.writes_per_s == pytest.approx(1_516.7, abs=0.1)
    assert FULL.connections == 4 * FULL.nodes + FULL.followers


def test_over_http2_a_node_has_one_connection_and_as_many_watches() -> None:
    assert FULL_HTTP2.connections == FULL.nodes + FULL.followers
    assert FULL_HTTP2.watches == FULL.watches
    assert demand(FULL_HTTP2, SLOPES).reconnect_s < demand(FULL, SLOPES).reconnect_s / 3


def test_units_add_up() -> None:
    one_pod = demand(Cluster(nodes=0, pods=1_000_000, pod_changes_per_s=0, followers=0), SLOPES)

    assert one_pod.memory_mb == SLOPES.idle_mb + SLOPES.pod_b + PAGE_CACHE_MB
    assert one_pod.stored_mb == SLOPES.idle_stored_mb + SLOPES.stored_pod_b
    assert one_pod.cluster_list_s == SLOPES.list_us_per_pod


def test_cpu_is_the_sum_of_what_causes_it() -> None:
    busy = demand(Cluster(nodes=0, pods=0, pod_changes_per_s=100, followers=9), SLOPES)

    writes, deliveries = 100 * 0.5e-3, 100 * 10 * 5e-6
    assert busy.cores == pytest.approx(SLOPES.idle_cores + writes + deliveries)


@pytest.mark.parametrize(
    "field", ["memory_mb", "cores", "in_mb_per_s", "out_mb_per_s", "stored_mb", "reconnect_s"]
)
def test_a_larger_cluster_needs_more_of_everything(field: str) -> None:
    shares = (0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 2.0)

    figures = [getattr(demand(FULL.scaled(share), SLOPES), field) for share in shares]

    assert figures == sorted(figures) and len(set(figures)) == len(figures)


def test_the_longer_it_runs_the_more_is_remembered_until_the_ring_is_full() -> None:
    assert remembered(10, run_s=5) == 50
    assert remembered(10, run_s=1_000) == ring(10) == 800


def test_a_ring_spans_the_window_up_to_its_bound() -> None:
    assert all(ring(rate) >= rate * WINDOW_S for rate in (0.1, 1, 10, 100, 1_000))
    assert ring(100_000) == CAPACITY_MAX
    assert demand(replace(FULL, pod_changes_per_s=100_000), SLOPES).window_s < WINDOW_S


def test_the_bounds_of_the_model_are_those_of_the_server() -> None:
    assert recall._BYTES_MAX == RECALLED_B_MAX
    assert f"PRAGMA cache_size = -{round(PAGE_CACHE_MB * 1e6 / 1024)}" in EACH_OPEN


def test_more_servers_have_less_to_do_each_and_more_in_all() -> None:
    each = [of_each(FULL, SLOPES, SHARED, servers) for servers in (1, 2, 3)]

    assert each[0].cores > each[1].cores > each[2].cores
    assert each[0].cores < 2 * each[1].cores < 3 * each[2].cores
    assert each[0].memory_mb > each[1].memory_mb > FULL.pods * SLOPES.pod_b / 1e6


def test_enough_servers_are_enough_while_one_is_away() -> None:
    servers = servers_needed(FULL, SLOPES, SHARED)

    assert of_each(FULL, SLOPES, SHARED, servers - 1).cores <= CORE_MAX
    assert servers == 2 or of_each(FULL, SLOPES, SHARED, servers - 2).cores > CORE_MAX


def test_where_following_alone_fills_a_core_no_number_of_servers_helps() -> None:
    assert servers_needed(FULL, SLOPES, replace(SHARED, follow_ms=1.0)) == 0


def test_a_call_waits_longer_the_fuller_the_core_and_for_ever_when_it_is_full() -> None:
    waits = [call_p99_ms(cores, service_ms=1.0) for cores in (0.0, 0.5, 0.9)]

    assert waits[0] == 1.0 and waits == sorted(waits)
    assert call_p99_ms(1.0, service_ms=1.0) == math.inf


def test_the_share_at_which_a_limit_is_reached() -> None:
    assert share_at(limit=0.7, figure=1.4, at_nothing=0.0) == 0.5
    assert share_at(limit=10, figure=5, at_nothing=5) == math.inf


def test_writes_that_share_commits_cost_what_was_measured_for_them() -> None:
    together = grouped(SLOPES, {"pod": 0.2, "lease": 0.1, "status": 0.3})

    assert demand(FULL, together).cores < demand(FULL, SLOPES).cores
    assert together.lease.cpu_ms == 0.1


def test_a_percentile_is_a_value_that_so_many_are_not_above() -> None:
    values = [float(number) for number in range(1, 101)]

    assert percentile(values, 0.99) == 99.0
    assert percentile([5.0], 0.99) == 5.0


def test_the_page_has_the_tables_that_the_model_makes() -> None:
    written = page.PAGE.read_text()

    assert page.updated(written, measured.kept()) == written


def test_the_pictures_are_those_that_the_model_draws() -> None:
    for name, picture in page.pictures(measured.kept()).items():
        assert (page.IMAGES / name).read_text() == picture


def test_runs_at_every_share_were_measured() -> None:
    assert tuple(check.share for check in measured.kept().checks) == SHARES
