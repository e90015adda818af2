"""Workloads in a running cluster, driven by kubectl as their users do."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.up.kubectl import Kubectl
from tests.kubectl import needs_kubectl

pytestmark = needs_kubectl
STATEFUL_SET = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3
  serviceName: peers
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers:
      - name: main
        image: db:1
        volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
DAEMON_SET = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: main, image: "agent:1"}]}
"""
JOBS = """
apiVersion: batch/v1
kind: Job
metadata: {name: parts}
spec:
  completions: 4
  parallelism: 2
  completionMode: Indexed
  template:
    metadata: {annotations: {proreus.dev/exit-after: 0s}}
    spec: {restartPolicy: Never, containers: [{name: main, image: "work:1"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: broken}
spec:
  podFailurePolicy:
    rules: [{action: FailJob, onExitCodes: {operator: In, values: [42]}}]
  template:
    metadata: {annotations: {proreus.dev/exit-after: 0s, proreus.dev/exit-code: "42"}}
    spec: {restartPolicy: Never, containers: [{name: main, image: "work:1"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: hopeless}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {proreus.dev/exit-after: 0s, proreus.dev/exit-code: "1"}}
    spec: {restartPolicy: Never, containers: [{name: main, image: "work:1"}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate:
    spec:
      ttlSecondsAfterFinished: 0
      template:
        metadata: {annotations: {proreus.dev/exit-after: 0s}}
        spec: {restartPolicy: Never, containers: [{name: main, image: "work:1"}]}
"""
EVERY_SECOND = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: pulse}
spec:
  schedule: "@every 1s"
  jobTemplate:
    spec:
      template:
        metadata: {annotations: {proreus.dev/exit-after: 0s}}
        spec: {restartPolicy: Never, containers: [{name: main, image: "work:1"}]}
"""


def applied(kubectl: Kubectl, folder: Path, manifest: str) -> None:
    file = folder / "manifest.yaml"
    file.write_text(manifest)
    kubectl("apply", "-f", str(file))


def images(kubectl: Kubectl, label: str) -> set[str]:
    path = "jsonpath={.items[*].spec.containers[0].image}"
    return set(kubectl("get", "pods", "-l", label, "-o", path).split())


def test_a_stateful_set_is_rolled_out_updated_undone_and_scaled(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    applied(kubectl, tmp_path, STATEFUL_SET)
    assert "3 new pods have been updated" in kubectl("rollout", "status", "sts/db", "--timeout=60s")
    names = kubectl("get", "pods", "-l", "app=db", "-o", "name").split()
    assert names == ["pod/db-0", "pod/db-1", "pod/db-2"]

    kubectl("set", "image", "sts/db", "main=db:2")
    kubectl("rollout", "status", "sts/db", "--timeout=60s")
    assert images(kubectl, "app=db") == {"db:2"}
    history = kubectl("rollout", "history", "sts/db")
    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["1", "2"]

    kubectl("rollout", "undo", "sts/db")
    kubectl("rollout", "status", "sts/db", "--timeout=60s")
    assert images(kubectl, "app=db") == {"db:1"}

    kubectl("scale", "sts/db", "--replicas=1")
    kubectl("wait", "--for=delete", "pod/db-1", "--timeout=60s")
    assert kubectl("get", "pods", "-l", "app=db", "-o", "name").split() == ["pod/db-0"]
    assert len(kubectl("get", "pvc", "-o", "name").split()) == 3

    kubectl("delete", "sts/db", "--timeout=60s")
    kubectl("wait", "--for=delete", "pod/db-0", "--timeout=60s")
    kubectl("delete", "pvc", "--all", "--timeout=60s")


def test_a_daemon_set_is_rolled_out_updated_and_undone(kubectl: Kubectl, tmp_path: Path) -> None:
    applied(kubectl, tmp_path, DAEMON_SET)
    kubectl("rollout", "status", "ds/agent", "--timeout=60s")
    where = "jsonpath={.items[*].spec.nodeName}"
    nodes = kubectl("get", "pods", "-l", "app=agent", "-o", where).split()
    assert sorted(nodes) == ["node-1", "node-2"]

    kubectl("set", "image", "ds/agent", "main=agent:2")
    kubectl("rollout", "status", "ds/agent", "--timeout=60s")
    assert images(kubectl, "app=agent") == {"agent:2"}
    history = kubectl("rollout", "history", "ds/agent")
    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["1", "2"]
    assert "agent:1" in kubectl("rollout", "history", "ds/agent", "--revision=1")

    kubectl("rollout", "undo", "ds/agent")
    kubectl("rollout", "status", "ds/agent", "--timeout=60s")
    assert images(kubectl, "app=agent") == {"agent:1"}
    kubectl("delete", "ds/agent", "--timeout=60s")


def test_jobs_complete_fail_and_go_with_their_pods(kubectl: Kubectl, tmp_path: Path) -> None:
    applied(kubectl, tmp_path, JOBS)
    kubectl("wait", "--for=condition=complete", "job/parts", "--timeout=60s")
    kubectl("wait", "--for=condition=failed", "job/broken", "job/hopeless", "--timeout=60s")

    assert "Completed Indexes:  0-3" in kubectl("describe", "job", "parts")
    kubectl.prints("SuccessfulCreate", "describe", "job", "parts")
    kubectl.prints("PodFailurePolicy", "describe", "job", "broken")
    kubectl.prints("BackoffLimitExceeded", "describe", "job", "hopeless")

    kubectl("create", "job", "now", "--from=cronjob/tick")
    kubectl("wait", "--for=delete", "job/now", "--timeout=60s")

    kubectl("delete", "job", "parts", "broken", "hopeless", "--timeout=60s")
    kubectl("delete", "cronjob", "tick", "--timeout=60s")
    left = "job-name in (parts, broken, hopeless)"
    kubectl("wait", "--for=delete", "pod", "-l", left, "--timeout=60s")


def uses(kubectl: Kubectl, pods: int) -> None:
    used = f"--for=jsonpath={{.status.used.pods}}={pods}"
    kubectl("wait", used, "quota/few", "-n", "small", "--timeout=60s")


def test_a_quota_limits_a_deployment_and_reports_why(kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "small")
    kubectl("create", "quota", "few", "--hard=pods=2,count/deployments.apps=1", "-n", "small")
    uses(kubectl, 0)

    kubectl("create", "deployment", "web", "--image=web", "--replicas=3", "-n", "small")

    uses(kubectl, 2)
    kubectl(
        "wait", "--for=condition=ReplicaFailure", "deployment/web", "-n", "small", "--timeout=60s"
    )
    refused = "exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2"
    kubectl.prints(refused, "describe", "rs", "-n", "small")

    kubectl("scale", "deployment/web", "--replicas=1", "-n", "small")
    uses(kubectl, 1)
    kubectl("delete", "namespace", "small", "--timeout=60s")


def test_a_namespace_goes_with_everything_that_is_held_in_it(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    kubectl("create", "namespace", "full")
    file = tmp_path / "all.yaml"
    file.write_text(f"{STATEFUL_SET}---{DAEMON_SET}---{JOBS}")
    kubectl("apply", "-n", "full", "-f", str(file))
    kubectl("create", "job", "endless", "--image=work", "-n", "full", "--", "sleep", "600")
    kubectl("rollout", "status", "sts/db", "-n", "full", "--timeout=60s")

    kubectl("delete", "namespace", "full", "--timeout=60s")


def test_a_cron_job_starts_jobs_by_itself(kubectl: Kubectl, tmp_path: Path) -> None:
    applied(kubectl, tmp_path, EVERY_SECOND)

    kubectl("wait", "--for=jsonpath={.status.lastSuccessfulTime}", "cj/pulse", "--timeout=60s")

    kubectl.prints("SuccessfulCreate", "describe", "cronjob", "pulse")
    kubectl("delete", "cronjob", "pulse", "--timeout=60s")


def test_a_node_is_drained_within_the_budget_of_its_pods(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "calm", "--image=web", "--replicas=3")
    kubectl("create", "pdb", "calm", "--selector=app=calm", "--max-unavailable=1")
    kubectl("rollout", "status", "deployment/calm", "--timeout=60s")
    kubectl("wait", "--for=jsonpath={.status.disruptionsAllowed}=1", "pdb/calm", "--timeout=60s")

    # Pods of other tests may still be on their way out.
    drained = kubectl("drain", "node-1", "--ignore-daemonsets", "--force", "--timeout=60s")
    assert "node-1 drained" in drained

    kubectl("rollout", "status", "deployment/calm", "--timeout=60s")
    where = kubectl("get", "pods", "-l", "app=calm", "-o", "jsonpath={.items[*].spec.nodeName}")
    assert set(where.split()) == {"node-2"}
    kubectl("uncordon", "node-1")
    kubectl("delete", "deployment/calm", "pdb/calm", "--timeout=60s")


def test_an_autoscaler_keeps_its_bounds_and_reports_that_it_knows_no_load(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "busy", "--image=web")
    kubectl("autoscale", "deployment", "busy", "--min=2", "--max=5", "--cpu-percent=50")

    kubectl("wait", "--for=jsonpath={.spec.replicas}=2", "deployment/busy", "--timeout=60s")
    kubectl("wait", "--for=condition=AbleToScale", "hpa/busy", "--timeout=60s")

    kubectl.prints("SuccessfulRescale", "describe", "hpa", "busy")
    kubectl("delete", "hpa/busy", "deployment/busy", "--timeout=60s")


REPLICATION_CONTROLLER = """
apiVersion: v1
kind: ReplicationController
metadata: {name: old}
spec:
  replicas: 2
  template:
    metadata: {labels: {app: old}}
    spec: {containers: [{name: main, image: "old:1", ports: [{containerPort: 80}]}]}
"""


def test_a_replication_controller_is_scaled_exposed_budgeted_and_orphaned(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    applied(kubectl, tmp_path, REPLICATION_CONTROLLER)
    kubectl("wait", "--for=jsonpath={.status.availableReplicas}=2", "rc/old", "--timeout=60s")
    kubectl("expose", "rc/old", "--port=80")
    kubectl("create", "pdb", "old", "--selector=app=old", "--max-unavailable=1")

    kubectl("scale", "rc/old", "--current-replicas=2", "--replicas=3", "--timeout=60s")

    kubectl("wait", "--for=jsonpath={.status.availableReplicas}=3", "rc/old", "--timeout=60s")
    kubectl("wait", "--for=jsonpath={.status.expectedPods}=3", "pdb/old", "--timeout=60s")
    addresses = "jsonpath={.subsets[0].addresses[*].ip}"
    kubectl.until(lambda said: len(said.split()) == 3, "get", "endpoints/old", "-o", addresses)
    assert "3 desired" in kubectl("describe", "rc/old")
    kubectl.prints("Created pod: old-", "describe", "rc/old")

    kubectl("autoscale", "rc/old", "--max=1", "--cpu-percent=50")
    kubectl("wait", "--for=jsonpath={.spec.replicas}=1", "rc/old", "--timeout=60s")
    kubectl("wait", "--for=jsonpath={.status.replicas}=1", "rc/old", "--timeout=60s")

    kubectl("delete", "hpa/old", "pdb/old", "svc/old")
    kubectl("delete", "rc/old", "--cascade=orphan")
    kept = kubectl("get", "pods", "-l", "app=old", "-o", "jsonpath={.items[*].metadata}")
    assert "ownerReferences" not in kept
    kubectl("delete", "pods", "-l", "app=old")
