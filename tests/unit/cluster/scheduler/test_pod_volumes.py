"""Where a pod with claims may run, and which volumes it gets there."""

from __future__ import annotations

import random
from typing import Any

from msgspec.structs import replace

from proreus.cluster.scheduler.cycle import Cycle, Placed, Unschedulable
from proreus.cluster.scheduler.pod_volumes import (
    DelayedClaim,
    PodVolumes,
    VolumeChoice,
    has_other_user,
)
from tests.unit.cluster.scheduler.test_cycle import node, pod
from tests.unit.cluster.volumes.storage import claim, on_node, storage_class, volume

LATER = {"volumeBindingMode": "WaitForFirstConsumer"}
PROVISIONING = storage_class("later", provisioner="example.com/disks", **LATER)
STATIC = storage_class("later", provisioner="kubernetes.io/no-provisioner", **LATER)


def delayed(
    name: str = "data", *, of: Any = STATIC, volumes: Any = (), **said: Any
) -> DelayedClaim:
    return DelayedClaim(claim(name, storageClassName="later", **said), of, volumes)


def local(name: str, place: str, storage: str = "1Gi") -> Any:
    affinity = on_node(place)
    return volume(name, storage=storage, storageClassName="later", nodeAffinity=affinity)


def test_a_pod_goes_where_its_bound_volume_is() -> None:
    volumes = PodVolumes((local("v", "b"),), ())
    wanted = replace(pod(), volumes=volumes)

    assert Cycle(random.Random(1)).decide(wanted, [node("a"), node("b")]) == Placed("b")


def test_nodes_without_the_volume_are_refused_in_the_schedulers_words() -> None:
    affinity, missing = PodVolumes((local("v", "far"),), ()), PodVolumes((None,), ())

    decided = Cycle(random.Random(1)).decide(replace(pod(), volumes=affinity), [node("a")])
    gone = Cycle(random.Random(1)).decide(replace(pod(), volumes=missing), [node("a")])

    assert isinstance(decided, Unschedulable) and isinstance(gone, Unschedulable)
    text = "0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity."
    assert decided.message == text
    assert "bound to non-existent pv(s)" in gone.message


def test_a_waiting_claim_gets_the_best_volume_of_the_node() -> None:
    found = (local("large", "a", "9Gi"), local("small", "a"), local("far", "b"))
    volumes = PodVolumes((), (delayed(volumes=found),))

    assert volumes.choose(node("a")) == VolumeChoice({"default/data": "small"}, ())
    assert volumes.choose(node("b")) == VolumeChoice({"default/data": "far"}, ())
    assert volumes.refuse(node("c")) == "node(s) didn't find available persistent volumes to bind"


def test_two_claims_of_a_pod_get_different_volumes_the_smaller_claim_first() -> None:
    found = (local("v1", "a", "1Gi"), local("v5", "a", "5Gi"))
    claims = (delayed("big", volumes=found, storage="3Gi"), delayed("small", volumes=found))

    chosen = PodVolumes((), claims).choose(node("a"))

    assert chosen == VolumeChoice({"default/small": "v1", "default/big": "v5"}, ())


def test_a_volume_that_another_pod_is_about_to_get_is_not_given_again() -> None:
    volumes = PodVolumes((), (delayed(volumes=(local("v", "a"),)),), frozenset({"v"}))

    assert volumes.choose(node("a")) is None


def test_a_claim_without_a_volume_gets_a_new_one_where_its_class_serves() -> None:
    zone = {"key": "zone", "values": ["east"]}
    served = storage_class(
        "later",
        provisioner="example.com/disks",
        allowedTopologies=[{"matchLabelExpressions": [zone]}],
        **LATER,
    )
    volumes = PodVolumes((), (delayed(of=served),))

    east = volumes.choose(node("a", labels={"zone": "east"}))

    assert east == VolumeChoice({}, ("default/data",))
    assert volumes.choose(node("b", labels={"zone": "west"})) is None
    assert volumes.choose(node("c")) is None


def test_a_claim_for_one_pod_is_refused_to_a_second_one_wherever_the_first_is() -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    user, busy, free = pod("user", volumes=volumes), node("a"), node("b")
    busy.add(user)
    mine = claim("data", namespace="d", accessModes=["ReadWriteOncePod"])
    shared = claim("data", namespace="d")

    second = pod("second", volumes=volumes)

    assert has_other_user(second, mine, [busy, free])
    assert not has_other_user(user, mine, [busy, free])
    assert not has_other_user(second, shared, [busy, free])
    assert not has_other_user(second, mine, [free])
    assert PodVolumes((), (), is_in_use=True).refuse(free) == (
        "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access "
        "mode"
    )


def test_a_claim_whose_volume_is_being_made_for_a_node_keeps_its_pod_there() -> None:
    selected = {"volume.kubernetes.io/selected-node": "b"}
    volumes = PodVolumes((), (delayed(of=PROVISIONING, annotations=selected),))

    assert volumes.choose(node("a")) is None
    assert volumes.choose(node("b")) == VolumeChoice({}, ("default/data",))
