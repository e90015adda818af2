"""When nodes renew their leases."""

from __future__ import annotations

import random

import pytest

from proreus.cluster.kubelet.heartbeat import STEP_S, in_step


def test_nodes_of_a_process_beat_in_the_same_moments() -> None:
    now, chance = 1234.567, random.Random(1)
    moments = {round(now + in_step(now, 10 * chance.random()), 6) for _ in range(200)}

    assert all(moment == round(moment) for moment in moments)
    assert len(moments) <= 11


@pytest.mark.parametrize("delay_s", [0.0, 0.2, 7.3, 10.4])
def test_a_beat_is_moved_by_half_a_step_at_most_and_never_into_the_past(delay_s: float) -> None:
    moved_s = in_step(99.9, delay_s)

    assert moved_s >= 0
    assert abs(moved_s - delay_s) <= STEP_S / 2
