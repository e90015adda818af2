"""What is written of a claim and its volume when they are bound, and after."""

from __future__ import annotations

from proreus.cluster.volumes.bound_objects import (
    bound_claim,
    bound_claim_status,
    bound_volume,
    claim_status,
    unbound_volume,
)
from tests.unit.cluster.volumes.storage import claim_object, reference, volume_object

BY_CONTROLLER = {"pv.kubernetes.io/bound-by-controller": "yes"}


def test_both_name_each_other_and_say_that_a_controller_chose() -> None:
    volume = bound_volume(volume_object("v"), claim_object())
    claim = bound_claim(claim_object(), "v")

    assert volume is not None and claim is not None
    assert volume["spec"]["claimRef"] == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": "data",
        "uid": "uid-data",
        "resourceVersion": "7",
    }
    assert volume["metadata"]["annotations"] == BY_CONTROLLER
    assert claim["spec"]["volumeName"] == "v"
    completed = {"pv.kubernetes.io/bind-completed": "yes"}
    assert claim["metadata"]["annotations"] == BY_CONTROLLER | completed


def test_what_a_user_chose_is_not_marked_as_the_controllers_choice() -> None:
    reserved = volume_object("v", claimRef=reference(uid=""))

    volume, claim = (
        bound_volume(reserved, claim_object()),
        bound_claim(claim_object(volumeName="v"), "v"),
    )

    assert volume is not None and volume["metadata"]["annotations"] == {}
    assert claim is not None
    assert claim["metadata"]["annotations"] == {"pv.kubernetes.io/bind-completed": "yes"}


def test_what_is_bound_is_not_written_again() -> None:
    done = {"pv.kubernetes.io/bind-completed": "yes"}

    assert bound_volume(volume_object("v", claimRef=reference()), claim_object()) is None
    assert bound_claim(claim_object(volumeName="v", annotations=done), "v") is None


def test_a_bound_claim_has_its_volumes_capacity_and_access_modes() -> None:
    volume = volume_object("v", storage="5Gi")

    status = bound_claim_status(claim_object(), volume)

    assert status == {
        "phase": "Bound",
        "capacity": {"storage": "5Gi"},
        "accessModes": ["ReadWriteOnce"],
    }


def test_a_claim_that_is_not_bound_has_neither() -> None:
    bound = claim_object(phase="Bound")

    assert claim_status(bound, "Lost") == {"phase": "Lost"}


def test_unbinding_frees_what_the_controller_bound_and_keeps_what_a_user_reserved() -> None:
    chosen = unbound_volume(volume_object("v", claimRef=reference(), annotations=BY_CONTROLLER))
    reserved = unbound_volume(volume_object("v", claimRef=reference()))

    assert "claimRef" not in chosen["spec"] and chosen["metadata"]["annotations"] == {}
    assert reserved["spec"]["claimRef"] == {"namespace": "default", "name": "data"}
