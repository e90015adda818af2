"""Probes ask on time and change their mind only after as many equal answers as they need."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.cluster.kubelet.runtimes.pod_spec.probes import (
    Probe,
    ProbeKind,
    expanded_handler,
    read_probes,
)

START = 1000.0


def probe(kind: ProbeKind, **said: Any) -> Probe:
    (spec,) = read_probes({f"{kind}Probe": {"exec": {"command": ["true"]}, **said}})
    return Probe(spec, START)


def test_defaults_are_kubernetes_own() -> None:
    spec = probe("liveness").spec

    assert (spec.initial_delay_s, spec.period_s, spec.timeout_s) == (0, 10, 1)
    assert (spec.successes, spec.failures, spec.grace_s) == (1, 3, None)


def test_the_first_asking_waits_for_the_initial_delay_and_the_next_for_the_period() -> None:
    asked = probe("liveness", initialDelaySeconds=7, periodSeconds=4)

    assert asked.next_at == START + 7
    asked.answered(True, START + 8)
    assert asked.next_at == START + 12


def test_a_container_is_alive_until_enough_failures_in_a_row() -> None:
    asked = probe("liveness", failureThreshold=2)

    assert asked.is_good
    assert not asked.answered(False, 1)
    assert not asked.answered(True, 2)
    assert not asked.answered(False, 3)
    assert asked.answered(False, 4)
    assert asked.is_over
    assert not asked.is_good


def test_a_container_is_not_ready_before_enough_successes_and_may_lose_it_again() -> None:
    asked = probe("readiness", successThreshold=2, failureThreshold=2)

    answers = [True, True, True, False, False, True, True]
    changed = [asked.answered(answer, at) for at, answer in enumerate(answers)]

    assert changed == [False, True, False, False, True, False, True]
    assert asked.is_good
    assert not asked.is_over


def test_who_is_not_ready_is_asked_again_soon() -> None:
    asked = probe("readiness", periodSeconds=30)

    asked.answered(False, START)
    assert asked.next_at == START + 1
    asked.answered(True, START + 1)
    assert asked.next_at == START + 31


@pytest.mark.parametrize("last", [True, False])
def test_a_startup_probe_ends_with_its_verdict(last: bool) -> None:
    asked = probe("startup", failureThreshold=3)

    assert not asked.answered(False, 1)
    assert not asked.answered(False, 2)
    assert asked.answered(last, 3)

    assert asked.is_over
    assert asked.is_good is last


@given(st.integers(1, 4), st.integers(1, 4), st.lists(st.booleans(), max_size=40))
def test_readiness_is_the_last_long_enough_run_of_answers(
    successes: int, failures: int, answers: list[bool]
) -> None:
    asked = probe("readiness", successThreshold=successes, failureThreshold=failures)
    for at, answer in enumerate(answers):
        asked.answered(answer, at)

    expected = False
    for end in range(len(answers)):
        for wanted, length in ((True, successes), (False, failures)):
            if answers[max(0, end + 1 - length) : end + 1] == [wanted] * length:
                expected = wanted
    assert asked.is_good is expected


def test_a_probe_s_command_refers_to_values_that_stand_in_its_container() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {}}]
    probe = {"exec": {"command": ["test", "$(A)", "$$(A)", "$(B)$(C)"]}, "periodSeconds": 1}

    found = expanded_handler(probe, {"env": env})

    assert found == {"exec": {"command": ["test", "1", "$(A)", "$(C)"]}, "periodSeconds": 1}
    assert expanded_handler({"tcpSocket": {"port": 1}}, {"env": env}) == {"tcpSocket": {"port": 1}}
