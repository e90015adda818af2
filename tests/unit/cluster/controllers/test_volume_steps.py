"""What becomes of claims and volumes: each step, in Kubernetes' words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proreus.cluster.controllers.volumes.claim_decisions import (
    Await,
    BindClaim,
    ClaimSurroundings,
    Lose,
    Provision,
    TakeClass,
    claim_step,
)
from proreus.cluster.controllers.volumes.deleter import is_to_be_deleted
from proreus.cluster.controllers.volumes.local_path import removable_folder
from proreus.cluster.controllers.volumes.volume_decisions import (
    FailVolume,
    LeaveToBinder,
    SetPhase,
    Unbind,
    volume_step,
)
from proreus.cluster.volumes.views import StorageClass, Volume, default_class
from tests.unit.cluster.volumes.storage import (
    claim,
    reference,
    storage_class,
    volume,
    volume_object,
)

COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}
PROVISIONED = {"pv.kubernetes.io/provisioned-by": "somebody"}
DELAYED = storage_class("later", provisioner="p", volumeBindingMode="WaitForFirstConsumer")
AT_ONCE = storage_class("now", provisioner="example.com/disks", volumeBindingMode="Immediate")


def around(
    *candidates: Volume,
    named: Volume | None = None,
    of: StorageClass | None = None,
    default: str = "",
    pods: tuple[str, ...] = (),
) -> ClaimSurroundings:
    return ClaimSurroundings(named, candidates, of, default, lambda: pods)


def test_a_pending_claim_is_bound_to_a_volume_that_suits() -> None:
    assert claim_step(claim(), around(volume("v"))) == BindClaim("v")


@pytest.mark.parametrize(
    ("content", "surroundings", "reason", "message"),
    [
        (
            {"storageClassName": ""},
            around(),
            "FailedBinding",
            "no persistent volumes available for this claim and no storage class is set",
        ),
        (
            {"storageClassName": "gone"},
            around(),
            "ProvisioningFailed",
            'storageclass.storage.k8s.io "gone" not found',
        ),
        (
            {"storageClassName": "none"},
            around(of=storage_class("none", provisioner="kubernetes.io/no-provisioner")),
            "ProvisioningFailed",
            "no volume plugin matched name: kubernetes.io/no-provisioner",
        ),
        (
            {"storageClassName": "later"},
            around(volume("v", storageClassName="later"), of=DELAYED),
            "WaitForFirstConsumer",
            "waiting for first consumer to be created before binding",
        ),
        (
            {"storageClassName": "later"},
            around(of=DELAYED, pods=("a", "b")),
            "WaitForPodScheduled",
            "waiting for pods a,b to be scheduled",
        ),
        ({"volumeName": "v"}, around(), "", ""),
        (
            {"volumeName": "v"},
            around(named=volume("v", storage="1Mi")),
            "VolumeMismatch",
            'Cannot bind to requested volume "v": requested PV is too small',
        ),
        (
            {"volumeName": "v"},
            around(named=volume("v", claimRef=reference("other", "uid-other"))),
            "FailedBinding",
            'volume "v" already bound to a different claim.',
        ),
    ],
)
def test_a_claim_that_waits_says_for_what(
    content: dict[str, Any], surroundings: ClaimSurroundings, reason: str, message: str
) -> None:
    step = claim_step(claim(**content), surroundings)

    assert isinstance(step, Await)
    assert (step.reason, step.message) == (reason, message)


def test_a_claim_without_a_volume_is_left_to_its_provisioner() -> None:
    selected = {"volume.kubernetes.io/selected-node": "node-1"}

    assert claim_step(claim(storageClassName="now"), around(of=AT_ONCE)) == Provision(
        "example.com/disks"
    )
    assert claim_step(
        claim(storageClassName="later", annotations=selected), around(of=DELAYED)
    ) == Provision("p")


def test_a_claim_that_names_no_class_takes_the_default_that_came_later() -> None:
    assert claim_step(claim(), around(default="standard")) == TakeClass("standard")
    assert claim_step(claim(storageClassName=""), around(default="standard")) != TakeClass(
        "standard"
    )


def test_of_two_default_classes_the_newer_one_counts() -> None:
    marked = {"storageclass.kubernetes.io/is-default-class": "true"}
    found = default_class([storage_class("a", annotations=marked), AT_ONCE])

    assert found is not None and found.name == "a"
    assert default_class([AT_ONCE, DELAYED]) is None


@pytest.mark.parametrize(
    ("content", "found", "reason"),
    [
        ({}, None, "ClaimLost"),
        ({"volumeName": "v"}, None, "ClaimLost"),
        ({"volumeName": "v"}, volume("v", claimRef=reference("b", "uid-b")), "ClaimMisbound"),
    ],
)
def test_a_bound_claim_without_its_volume_is_lost(
    content: dict[str, Any], found: Volume | None, reason: str
) -> None:
    step = claim_step(claim(annotations=COMPLETED, **content), around(named=found))

    assert isinstance(step, Lose) and step.reason == reason


def test_a_bound_claim_stays_bound() -> None:
    bound = volume("v", claimRef=reference(), phase="Bound")

    step = claim_step(claim(annotations=COMPLETED, volumeName="v"), around(named=bound))

    assert step == BindClaim("v")


@pytest.mark.parametrize(
    ("content", "named", "expected"),
    [
        ({}, None, SetPhase("Available")),
        ({"claimRef": reference(uid="")}, claim(), SetPhase("Available")),
        ({"claimRef": reference()}, claim(), LeaveToBinder()),
        ({"claimRef": reference()}, claim(volumeName="v"), SetPhase("Bound")),
        ({"claimRef": reference(), "phase": "Bound"}, None, SetPhase("Released")),
        ({"claimRef": reference()}, claim(uid="another's"), SetPhase("Released")),
        ({"claimRef": reference()}, claim(volumeName="other"), Unbind()),
        (
            {
                "claimRef": reference(),
                "annotations": PROVISIONED,
                "persistentVolumeReclaimPolicy": "Delete",
            },
            claim(volumeName="other"),
            SetPhase("Released"),
        ),
        (
            {"claimRef": reference(), "phase": "Released"},
            None,
            SetPhase("Released"),
        ),
        (
            {
                "claimRef": reference(),
                "phase": "Released",
                "persistentVolumeReclaimPolicy": "Recycle",
            },
            None,
            FailVolume("VolumeFailedRecycle", "No recycler plugin found for the volume!"),
        ),
        (
            {
                "claimRef": reference(),
                "phase": "Released",
                "persistentVolumeReclaimPolicy": "Delete",
            },
            None,
            FailVolume(
                "VolumeFailedDelete",
                'error getting deleter volume plugin for volume "v": '
                "no deletable volume plugin matched",
            ),
        ),
        (
            {
                "claimRef": reference(),
                "phase": "Released",
                "annotations": PROVISIONED,
                "persistentVolumeReclaimPolicy": "Delete",
            },
            None,
            SetPhase("Released"),
        ),
    ],
)
def test_a_volumes_phase_follows_its_claim(
    content: dict[str, Any], named: Any, expected: object
) -> None:
    assert volume_step(volume("v", **content), named) == expected


def test_only_released_volumes_with_the_policy_delete_are_deleted() -> None:
    policy = {"persistentVolumeReclaimPolicy": "Delete"}

    assert is_to_be_deleted(volume("v", phase="Released", **policy))
    assert not is_to_be_deleted(volume("v", phase="Bound", **policy))
    assert not is_to_be_deleted(volume("v", phase="Released"))


@pytest.mark.parametrize(
    "path",
    ["/home", "/srv/volumes", "/srv/volumes/../v_default_data", "/srv/volumes/other", ""],
)
def test_no_volume_makes_us_remove_a_folder_that_we_did_not_make(path: str) -> None:
    folder = Path("/srv/volumes")
    own = "/srv/volumes/v_default_data"

    ours = removable_folder(
        volume_object("v", claimRef=reference(), hostPath={"path": own}), folder
    )
    said = removable_folder(
        volume_object("v", claimRef=reference(), hostPath={"path": path}), folder
    )
    climbing = {"namespace": "..", "name": "../../home", "uid": "u"}
    other = removable_folder(
        volume_object("v", claimRef=climbing, hostPath={"path": "/srv/volumes/v_.._../../home"}),
        folder,
    )

    assert ours == Path(own)
    assert said is None
    assert other is None
