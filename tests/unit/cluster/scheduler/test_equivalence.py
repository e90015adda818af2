"""What is remembered of nodes for pods that are alike changes no decision."""

from __future__ import annotations

import random
from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.cluster.scheduler.cluster_state import ClusterState
from proreus.cluster.scheduler.cycle import Cycle, Placed
from proreus.cluster.scheduler.equivalence import PodClasses
from proreus.cluster.scheduler.pod import PodView

TAINTS: list[list[dict[str, str]]] = [
    [],
    [{"key": "soft", "effect": "PreferNoSchedule"}],
    [{"key": "hard", "effect": "NoSchedule"}],
]
DISK = {"key": "disk", "operator": "In", "values": ["ssd"]}
PREFERRED = {
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 5, "preference": {"matchExpressions": [DISK]}}
    ]
}
SPECS: list[dict[str, Any]] = [
    {},
    {"nodeSelector": {"disk": "ssd"}},
    {"tolerations": [{"key": "hard", "operator": "Exists"}]},
    {"affinity": {"nodeAffinity": PREFERRED}},
]


def node(name: str, chance: random.Random) -> KubeObject:
    return KubeObject.from_dict(
        {
            "metadata": {"name": name, "labels": {"disk": chance.choice(["ssd", "hdd"])}},
            "spec": {
                "taints": chance.choice(TAINTS),
                "unschedulable": chance.random() < 0.1,
            },
            "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "6"}},
        }
    )


def pod(number: int, chance: random.Random) -> PodView:
    ports = [{"hostPort": 80}] if chance.random() < 0.2 else []
    requests = {"cpu": chance.choice(["100m", "300m"])}
    container = {"name": "c", "ports": ports, "resources": {"requests": requests}}
    owner = {"controller": True, "uid": chance.choice(["a", "b"])}
    return PodView.read(
        KubeObject.from_dict(
            {
                "metadata": {"name": f"p{number}", "uid": str(number), "ownerReferences": [owner]},
                "spec": {"containers": [container], **chance.choice(SPECS)},
            }
        )
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_decision_is_the_same_whatever_was_decided_before(seed: int) -> None:
    chance, state, experienced = random.Random(seed), ClusterState(), Cycle(random.Random())
    for number in range(6):
        state.put_node(node(f"n{number}", chance))
    placed: list[PodView] = []

    for number in range(40):
        wanted = pod(number, chance)
        experienced._rng = random.Random(number)  # both break ties alike
        decision = experienced.decide(wanted, state.nodes)

        assert decision == Cycle(random.Random(number)).decide(wanted, state.nodes)
        if isinstance(decision, Placed):
            state.assume(wanted, decision.node)
            placed.append(wanted)
        event = chance.random()
        if event < 0.2 and placed:
            state.remove_pod(placed.pop(chance.randrange(len(placed))).uid)
        elif event < 0.4:
            state.put_node(node(f"n{chance.randrange(6)}", chance))
        elif event < 0.5:
            state.remove_node(f"n{chance.randrange(6)}")


def test_pods_of_one_owner_and_template_are_alike_and_others_are_not() -> None:
    classes, chance = PodClasses(), random.Random(1)
    first, twin = pod(1, random.Random(7)), pod(2, random.Random(7))

    assert classes.of(first) is classes.of(twin)
    others = [pod(number, chance) for number in range(3, 40)]
    for one in others:
        is_alike = (one.owner_uid, one.requests, one.host_ports, one.spec) == (
            first.owner_uid,
            first.requests,
            first.host_ports,
            first.spec,
        )
        if not is_alike:
            assert classes.of(one) is not classes.of(first)
