"""What fairness counts, under Kubernetes' names and labels."""

from __future__ import annotations

from proreus.server.fairness.fairness import Fairness
from proreus.server.fairness.flow_schemas import Requested
from proreus.server.fairness.metrics import FairnessMetrics
from proreus.server.http.seats import Limits, Seat
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.user import User
from proreus.testing.virtual_clock import VirtualClock
from tests.samples import sample_value

PREFIX = "apiserver_flowcontrol_"
LEVEL = {"priority_level": "catch-all"}
SCHEMA = {**LEVEL, "flow_schema": "catch-all"}


class Measured:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.fairness = Fairness(self.clock)
        self.limits = Limits(self.clock)
        self._registry = CollectorRegistry()
        FairnessMetrics(self._registry, self.fairness)

    def seat(self, width: int = 1, *, is_watch: bool = False) -> Seat:
        flow = self.fairness.flow(User("u", ()), Requested("get", path="/x"))
        seat = Seat("u", flow, self.limits, width=width, is_watch=is_watch)
        assert seat.take_nowait()
        return seat

    def read(self, name: str, **labels: str) -> float | None:
        return sample_value(self._registry, f"{PREFIX}{name}", labels)


def test_seats_in_use_are_counted_by_schema() -> None:
    measured = Measured()
    wide = measured.seat(3)
    measured.seat()

    assert measured.read("current_executing_requests", **SCHEMA) == 2
    assert measured.read("current_executing_seats", **SCHEMA) == 4
    assert measured.read("request_concurrency_in_use", **SCHEMA) == 4
    wide.leave()
    assert measured.read("current_executing_seats", **SCHEMA) == 1
    assert measured.read("current_inqueue_seats", **SCHEMA) == 0


def test_what_watches_take_to_begin_is_counted_apart() -> None:
    measured = Measured()
    measured.seat(is_watch=True).leave()
    for _ in range(2):
        measured.seat().leave()

    took = {
        kind: measured.read("request_execution_seconds_count", **SCHEMA, type=kind)
        for kind in ("regular", "watch")
    }
    assert took == {"regular": 2, "watch": 1}


async def test_the_demand_of_a_period_is_counted_when_it_has_ended() -> None:
    measured = Measured()
    seats = [measured.seat(), measured.seat()]
    await measured.clock.advance(5)
    for seat in seats:
        seat.leave()
    await measured.clock.advance(5)
    measured.fairness.adjust()

    found = {
        name: measured.read(f"demand_seats_{name}", **LEVEL)
        for name in ("high_watermark", "average", "stdev", "smoothed")
    }
    assert found == {"high_watermark": 2, "average": 1, "stdev": 1, "smoothed": 2}
    nominal = measured.read("nominal_limit_seats", **LEVEL)
    assert measured.read("request_concurrency_limit", **LEVEL) == nominal
    assert measured.read("demand_seats_bucket", **LEVEL, le="0.2") == 1
    used = "priority_level_seat_utilization_count"
    assert measured.read(used, **LEVEL, phase="executing") == 1
