"""Users and parts of a cluster with no more rights than they need, seen with kubectl.

That every part gets along with its own rights is shown by all tests that use ``least_rights``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proreus.api.wire import json
from tests.cluster.up.kubectl import Kubectl, kubectl_as, kubectl_of
from tests.cluster.up.least_rights import asked_by_parts, cluster_of_least_rights
from tests.kubectl import needs_kubectl

pytestmark = needs_kubectl


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with cluster_of_least_rights(tmp_path_factory.mktemp("up"), "--nodes", "2") as running:
        kubectl = kubectl_of(running)
        for node in ("node/node-1", "node/node-2"):
            kubectl("wait", "--for=create", node, "--timeout=60s")
        # Roles that are aggregated of others are so by a controller.
        kubectl.prints("pods", "get", "clusterrole", "edit", "-o", "yaml")
        yield kubectl


def test_the_story_of_the_readme_works_for_a_user_who_may_edit_one_namespace(
    admin: Kubectl,
) -> None:
    admin("create", "namespace", "team")
    admin("create", "rolebinding", "ann", "--clusterrole=edit", "--user=ann", "-n", "team")
    ann = kubectl_as(admin, "ann", namespace="team")

    ann("create", "deployment", "web", "--image=nginx", "--replicas=3")
    ann("rollout", "status", "deployment/web", "--timeout=60s")
    printed = ann("get", "deployments,replicasets,pods", "-o", "wide")
    ann("set", "image", "deployment/web", "nginx=nginx:1.27")
    ann("rollout", "status", "deployment/web", "--timeout=60s")
    ann("scale", "deployment", "web", "--replicas=5")
    ann("wait", "--for=jsonpath={.status.readyReplicas}=5", "deployment/web", "--timeout=60s")

    assert printed.count("pod/web-") == 3
    assert 'cannot list resource "pods" in API group "" in the namespace "default"' in (
        ann.refused("get", "pods", "-n", "default")
    )
    assert 'cannot list resource "nodes" in API group "" at the cluster scope' in (
        ann.refused("get", "nodes")
    )
    assert "cannot impersonate" in ann.refused("get", "pods", "--as=system:admin")


def test_a_node_reads_the_secrets_of_its_own_pods_alone(admin: Kubectl) -> None:
    for number in ("1", "2"):
        admin("create", "secret", "generic", f"secret-{number}", f"--from-literal=a={number}")
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"reader-{number}"},
            "spec": {
                "nodeName": f"node-{number}",
                "containers": [
                    {
                        "name": "main",
                        "image": "nginx",
                        "envFrom": [{"secretRef": {"name": f"secret-{number}"}}],
                    }
                ],
            },
        }
        admin("apply", "-f", "-", stdin=json.encode(pod).decode())
    admin("wait", "--for=condition=Ready", "pod/reader-1", "pod/reader-2", "--timeout=60s")
    node = kubectl_as(admin, "system:node:node-1", "system:nodes")

    own = node("get", "secret", "secret-1", "-o", "jsonpath={.data.a}")
    others = node.refused("get", "secret", "secret-2")
    every = node.refused("get", "secrets")

    assert own == "MQ=="
    assert "no relationship found between node 'node-1' and this object" in others
    assert "No Object name found" in every
    assert "cannot read 'node-2', only its own Node object" in node.refused("get", "node", "node-2")


def test_each_part_acts_as_who_it_is(admin: Kubectl) -> None:
    admin("create", "deployment", "known", "--image=nginx")
    admin("rollout", "status", "deployment/known", "--timeout=60s")

    account = "system:serviceaccount:kube-system:"
    parts = {
        "system:kube-controller-manager",
        "system:kube-scheduler",
        "system:node:node-1",
        "system:node:node-2",
        f"{account}deployment-controller",
        f"{account}replicaset-controller",
        f"{account}generic-garbage-collector",
    }
    log = admin.kubeconfig.parents[1] / "audit.log"
    admin.until(lambda _: parts <= {one.user for one in asked_by_parts(log)}, "version")
