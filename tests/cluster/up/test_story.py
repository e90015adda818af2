"""What a cluster is for, with kubectl: deploy, update, undo, expose, delete."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.up.kubectl import Kubectl, kubectl_of
from tests.cluster.up.least_rights import cluster_of_least_rights
from tests.cluster.up.test_workloads import images
from tests.kubectl import needs_kubectl

pytestmark = needs_kubectl


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with cluster_of_least_rights(tmp_path_factory.mktemp("up"), "--nodes", "3") as running:
        yield kubectl_of(running)


def deployed(kubectl: Kubectl, name: str, replicas: int = 3) -> None:
    kubectl("create", "deployment", name, "--image=web:1", f"--replicas={replicas}")
    rolled_out(kubectl, name)


def rolled_out(kubectl: Kubectl, name: str) -> None:
    said = kubectl("rollout", "status", f"deployment/{name}", "--timeout=60s")
    assert "successfully rolled out" in said


def has_addresses(kubectl: Kubectl, service: str, count: int) -> None:
    label = f"kubernetes.io/service-name={service}"
    slices = "jsonpath={.items[*].endpoints[*].addresses[0]}"
    endpoints = "jsonpath={.items[*].subsets[*].addresses[*].ip}"
    by_name = f"metadata.name={service}"

    def are_all(said: str) -> bool:
        return len(said.split()) == count

    kubectl.until(are_all, "get", "endpointslices", "-l", label, "-o", slices)
    kubectl.until(are_all, "get", "endpoints", "--field-selector", by_name, "-o", endpoints)


def names(kubectl: Kubectl, kind: str, label: str) -> list[str]:
    return kubectl("get", kind, "-l", label, "-o", "name").split()


def test_a_deployment_is_updated_and_undone(kubectl: Kubectl) -> None:
    deployed(kubectl, "web")

    kubectl("set", "image", "deployment/web", "web=web:2")
    rolled_out(kubectl, "web")
    kubectl.prints("web:2", "get", "pods", "-l", "app=web", "-o", "yaml")
    history = kubectl("rollout", "history", "deployment/web")
    kubectl("rollout", "undo", "deployment/web")
    rolled_out(kubectl, "web")

    kubectl("rollout", "restart", "deployment/web")
    rolled_out(kubectl, "web")

    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["1", "2"]
    kubectl("wait", "--for=jsonpath={.status.replicas}=3", "deployment/web", "--timeout=60s")
    assert images(kubectl, "app=web") <= {"web:1", "web:2"}
    assert len(names(kubectl, "replicasets", "app=web")) == 3
    kubectl.prints("Scaled up replica set web-", "describe", "deployment", "web")


def test_a_paused_deployment_waits_to_be_resumed(kubectl: Kubectl) -> None:
    deployed(kubectl, "patient")

    kubectl("rollout", "pause", "deployment/patient")
    kubectl("set", "image", "deployment/patient", "web=web:2")
    kubectl("wait", "--for=condition=Progressing=Unknown", "deployment/patient", "--timeout=60s")
    assert len(names(kubectl, "replicasets", "app=patient")) == 1

    kubectl("rollout", "resume", "deployment/patient")
    rolled_out(kubectl, "patient")
    assert len(names(kubectl, "replicasets", "app=patient")) == 2


def test_a_rollout_that_gets_nowhere_is_given_up_by_kubectl(kubectl: Kubectl) -> None:
    deployed(kubectl, "stuck")
    never = '{"metadata":{"annotations":{"proreus.dev/ready-after":"never"}}}'

    kubectl(
        "patch", "deployment", "stuck", "-p",
        f'{{"spec":{{"progressDeadlineSeconds":1,"template":{never}}}}}',
    )  # fmt: skip
    said = kubectl.refused("rollout", "status", "deployment/stuck", "--timeout=60s")

    assert 'deployment "stuck" exceeded its progress deadline' in said


def test_recreate_ends_the_old_before_the_new(kubectl: Kubectl) -> None:
    deployed(kubectl, "whole")
    kubectl(
        "patch", "deployment", "whole", "-p",
        '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}',
    )  # fmt: skip

    kubectl("set", "image", "deployment/whole", "web=web:2")
    rolled_out(kubectl, "whole")

    assert images(kubectl, "app=whole") == {"web:2"}


def test_a_service_knows_the_pods_behind_it(kubectl: Kubectl) -> None:
    deployed(kubectl, "shop", replicas=4)

    kubectl("expose", "deployment", "shop", "--port=80")
    has_addresses(kubectl, "shop", 4)
    kubectl("scale", "deployment/shop", "--replicas=2")
    has_addresses(kubectl, "shop", 2)

    kubectl("delete", "service", "shop")
    has_addresses(kubectl, "shop", 0)


@pytest.mark.parametrize("cascade", ["background", "foreground"])
def test_what_a_deployment_owns_goes_with_it(kubectl: Kubectl, cascade: str) -> None:
    name = f"gone-{cascade}"
    deployed(kubectl, name)

    kubectl("delete", "deployment", name, f"--cascade={cascade}", "--timeout=60s")

    for kind in ("replicasets", "pods"):
        kubectl("wait", "--for=delete", kind, "-l", f"app={name}", "--timeout=60s")
        assert names(kubectl, kind, f"app={name}") == []


def test_orphans_are_left_and_adopted_again(kubectl: Kubectl) -> None:
    deployed(kubectl, "orphaned")
    before = names(kubectl, "pods", "app=orphaned")

    kubectl("delete", "deployment", "orphaned", "--cascade=orphan", "--timeout=60s")
    assert names(kubectl, "pods", "app=orphaned") == before
    (left,) = names(kubectl, "replicasets", "app=orphaned")
    owners = kubectl("get", left, "-o", "jsonpath={.metadata.ownerReferences}")
    assert owners == ""

    deployed(kubectl, "orphaned")
    assert names(kubectl, "pods", "app=orphaned") == before
    assert names(kubectl, "replicasets", "app=orphaned") == [left]


def test_a_namespace_begins_with_an_account_and_ends_with_everything(kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "tenant")
    kubectl("wait", "--for=create", "serviceaccount/default", "-n", "tenant", "--timeout=60s")
    kubectl("wait", "--for=create", "configmap/kube-root-ca.crt", "-n", "tenant", "--timeout=60s")
    kubectl("create", "deployment", "web", "--image=web:1", "--replicas=3", "-n", "tenant")
    kubectl("rollout", "status", "deployment/web", "-n", "tenant", "--timeout=60s")

    kubectl("delete", "namespace", "tenant", "--timeout=60s")

    assert "tenant" not in kubectl("get", "namespaces", "-o", "name")
    assert "tenant" not in kubectl("get", "pods", "-A", "-o", "wide")


def test_a_more_important_pod_takes_the_place_of_a_lesser_one(kubectl: Kubectl) -> None:
    kubectl("create", "priorityclass", "vital", "--value=1000")
    large = (
        '{"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"9"}}}]%s}}'
    )
    for number in range(3):
        kubectl("run", f"lesser-{number}", "--image=i", f"--overrides={large % ''}")
    for number in range(3):
        kubectl("wait", "--for=condition=Ready", f"pod/lesser-{number}", "--timeout=60s")

    vital = large % ',"priorityClassName":"vital"'
    kubectl("run", "greater", "--image=i", f"--overrides={vital}")
    kubectl("wait", "--for=condition=Ready", "pod/greater", "--timeout=60s")

    kubectl.prints("Preempted", "get", "events")
    assert len([n for n in range(3) if f"lesser-{n}" in kubectl("get", "pods", "-o", "name")]) == 2
