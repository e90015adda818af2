"""The default plugins on a server: what they add to objects, and what they refuse.

They read from the watch cache; a list waits until it knows what was written before.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from proreus.api.json_types import JsonObject
from proreus.server.admission.options import AdmissionOptions
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.server.registry.server_under_test import MERGE, Asking

STRATEGIC = "application/strategic-merge-patch+json"
CONTAINER = {"name": "c", "image": "i"}
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


def pod(name: str = "p", meta: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **(meta or {})}, "spec": {"containers": [CONTAINER], **spec}}


@pytest_asyncio.fixture
async def ask() -> AsyncIterator[Asking]:
    """With every default plugin, service accounts included."""
    async with ApiServer(ServerConfig(admission=AdmissionOptions())) as server:
        ready = Asking(server)
        await ready("POST", "serviceaccounts", {"metadata": {"name": "default"}})
        yield ready


async def test_an_image_is_pulled_with_the_secrets_of_the_account(ask: Asking) -> None:
    account = {"metadata": {"name": "a"}, "imagePullSecrets": [{"name": "registry"}]}
    await ask("POST", "serviceaccounts", account)

    made = await ask("POST", "pods", pod(serviceAccountName="a"))
    own = await ask(
        "POST", "pods", pod("q", serviceAccountName="a", imagePullSecrets=[{"name": "own"}])
    )

    assert made.body["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert own.body["spec"]["imagePullSecrets"] == [{"name": "own"}]


async def test_a_pod_that_brings_the_token_volume_keeps_it(ask: Asking) -> None:
    volume = {"name": "kube-api-access-mine", "emptyDir": {}}

    made = await ask("POST", "pods", pod(volumes=[volume]))

    assert [one["name"] for one in made.body["spec"]["volumes"]] == ["kube-api-access-mine"]
    assert made.body["spec"]["containers"][0]["volumeMounts"] == [
        {"name": "kube-api-access-mine", "readOnly": True, "mountPath": TOKEN_PATH}
    ]


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (
            {"env": [{"name": "K", "valueFrom": {"secretKeyRef": {"name": "no", "key": "k"}}}]},
            "envVar K",
        ),
        ({"envFrom": [{"secretRef": {"name": "no"}}]}, "envFrom"),
        ({"envFrom": [{"secretRef": {"name": "ok"}}, {"secretRef": {"name": "no"}}]}, "envFrom"),
    ],
)
async def test_no_container_uses_a_secret_that_the_account_does_not_name(
    ask: Asking, environment: JsonObject, said: str
) -> None:
    notes = {"kubernetes.io/enforce-mountable-secrets": "true"}
    account = {"metadata": {"name": "s", "annotations": notes}, "secrets": [{"name": "ok"}]}
    await ask("POST", "serviceaccounts", account)
    reading = {**CONTAINER, "name": "d", **environment}

    main = await ask("POST", "pods", pod(serviceAccountName="s", containers=[reading]))
    init = await ask("POST", "pods", pod(serviceAccountName="s", initContainers=[reading]))
    await ask("POST", "pods", pod("q", serviceAccountName="s"))
    debug = await ask(
        "PATCH",
        "pods/q/ephemeralcontainers",
        {"spec": {"ephemeralContainers": [reading]}},
        kind=MERGE,
    )

    end = (
        f'with {said} referencing secret.secretName="no" is not allowed because service account '
        "s does not reference that secret"
    )
    assert main.body["message"] == f'pods "p" is forbidden: container d {end}'
    assert init.body["message"] == f'pods "p" is forbidden: init container d {end}'
    assert debug.body["message"] == f'pods "q" is forbidden: ephemeral container d {end}'


async def test_the_default_account_is_waited_for() -> None:
    clock = VirtualClock()
    async with ApiServer(ServerConfig(admission=AdmissionOptions()), clock=clock) as server:
        ask = Asking(server)
        asked = asyncio.create_task(ask("POST", "pods", pod()))
        await clock.advance(0.05)
        await ask("POST", "serviceaccounts", {"metadata": {"name": "default"}})
        while not asked.done():
            await clock.advance(0.05)

    assert (await asked).status == 201


async def test_a_new_level_warns_of_the_pods_that_are_there(ask: Asking) -> None:
    for name in ("b", "a"):
        await ask("POST", "pods", pod(name, hostNetwork=True))
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}}
    await ask("GET", "pods")

    changed = await ask("PATCH", "/api/v1/namespaces/default", label, kind=MERGE)
    await ask("GET", "/api/v1/namespaces")
    refused = await ask("POST", "pods", pod("c", hostNetwork=True))

    assert changed.status == 200
    assert changed.headers["Warning"] == '299 - "a (and 1 other pod): host namespaces"'
    assert refused.body["message"] == (
        'pods "c" is forbidden: violates PodSecurity "baseline:latest": host namespaces '
        "(hostNetwork=true)"
    )


async def test_namespaces_without_labels_keep_to_the_configured_level(tmp_path: Path) -> None:
    file = tmp_path / "admission.yaml"
    file.write_text(
        """
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: {enforce: baseline}
    exemptions: {namespaces: [kube-system]}
"""
    )
    options = AdmissionOptions(disable=("ServiceAccount",), config_file=file)
    async with ApiServer(ServerConfig(admission=options)) as server:
        ask = Asking(server)
        refused = await ask("POST", "pods", pod(hostPID=True))
        exempt = await ask("POST", "/api/v1/namespaces/kube-system/pods", pod(hostPID=True))

    assert (refused.status, exempt.status) == (403, 201)


async def test_a_pod_that_is_created_on_a_node_learns_where_it_is(ask: Asking) -> None:
    labels = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/rack": "r"}
    await ask("POST", "/api/v1/nodes", {"metadata": {"name": "n", "labels": labels}})
    meta = {"labels": {"topology.kubernetes.io/zone": "elsewhere"}}
    await ask("GET", "/api/v1/nodes")

    made = await ask("POST", "pods", pod(meta=meta, nodeName="n"))

    assert made.body["metadata"]["labels"] == {"topology.kubernetes.io/zone": "z"}


async def test_a_claim_grows_no_further_than_a_limit_range_allows(ask: Asking) -> None:
    item = {"type": "PersistentVolumeClaim", "max": {"storage": "2Gi"}}
    await ask("POST", "limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [item]}})
    await ask("GET", "limitranges")
    growing = {"metadata": {"name": "g"}, "provisioner": "p", "allowVolumeExpansion": True}
    await ask("POST", "/apis/storage.k8s.io/v1/storageclasses", growing)
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "g", "volumeName": "v",
            "resources": {"requests": {"storage": "1Gi"}}}  # fmt: skip
    await ask("POST", "persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": spec})
    bound = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
    await ask("PATCH", "persistentvolumeclaims/c/status", bound, kind=MERGE)

    def grow(size: str) -> Any:
        wanted = {"spec": {"resources": {"requests": {"storage": size}}}}
        return ask("PATCH", "persistentvolumeclaims/c", wanted, kind=MERGE)

    assert (await grow("2Gi")).status == 200
    assert (await grow("3Gi")).body["message"] == (
        'persistentvolumeclaims "c" is forbidden: maximum storage usage per '
        "PersistentVolumeClaim is 2Gi, but request is 3Gi"
    )


async def test_amounts_of_several_containers_are_spelled_as_they_were_asked(ask: Asking) -> None:
    item = {"type": "Pod", "max": {"memory": "2Gi"}}
    await ask("POST", "limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [item]}})
    await ask("GET", "limitranges")
    large = {"limits": {"memory": "1536Mi"}}
    containers = [{**CONTAINER, "resources": large}, {**CONTAINER, "name": "d", "resources": large}]

    refused = await ask("POST", "pods", pod(containers=containers))

    assert refused.body["message"] == (
        'pods "p" is forbidden: maximum memory usage per Pod is 2Gi, but limit is 3Gi'
    )


@pytest.mark.parametrize("name", ["default", "other"])
async def test_one_priority_class_at_most_is_the_default_one(ask: Asking, name: str) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    first = {"metadata": {"name": "default"}, "value": 7, "globalDefault": True}
    await ask("POST", classes, first)
    await ask("POST", classes, {"metadata": {"name": "other"}, "value": 8})
    await ask("GET", classes)

    patch = {"globalDefault": True, "description": "d"}
    changed = await ask("PATCH", f"{classes}/{name}", patch, kind=MERGE)

    assert changed.status == (200 if name == "default" else 403)


async def test_a_second_default_priority_class_of_the_same_name_is_refused_as_a_second_default(
    ask: Asking,
) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    default = {"metadata": {"name": "default"}, "value": 7, "globalDefault": True}
    await ask("POST", classes, default)
    await ask("GET", classes)

    again = await ask("POST", classes, default)

    assert again.body["message"] == (
        'priorityclasses.scheduling.k8s.io "default" is forbidden: PriorityClass default is '
        "already marked as default. Only one default can exist"
    )


async def test_a_namespace_that_ends_takes_no_evictions_and_tokens_either(ask: Asking) -> None:
    terminating = {"metadata": {"name": "n", "finalizers": ["example.com/wait"]}}
    await ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    await ask("POST", "/api/v1/namespaces/n/serviceaccounts", {"metadata": {"name": "s"}})
    await ask("PATCH", "/api/v1/namespaces/n", terminating, kind=MERGE)
    await ask("DELETE", "/api/v1/namespaces/n")
    await ask("GET", "/api/v1/namespaces")

    named = {"metadata": {"name": "p"}}
    token = await ask("POST", "/api/v1/namespaces/n/serviceaccounts/s/token", {"spec": {}})
    eviction = await ask("POST", "/api/v1/namespaces/n/pods/p/eviction", named)
    nowhere = await ask("POST", "/api/v1/namespaces/none/pods/p/eviction", named)

    why = "unable to create new content in namespace n because it is being terminated"
    assert token.body["message"] == f'serviceaccounts "s" is forbidden: {why}'
    assert eviction.body["message"] == f'pods "p" is forbidden: {why}'
    assert nowhere.body["message"] == 'namespaces "none" not found'


async def test_missing_requests_are_reported_before_an_exceeded_quota(ask: Asking) -> None:
    for name, hard in (("a", {"pods": "0"}), ("b", {"requests.cpu": "1"})):
        await ask("POST", "resourcequotas", {"metadata": {"name": name}, "spec": {"hard": hard}})
        status = {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
        await ask("PATCH", f"resourcequotas/{name}/status", status, kind=MERGE)
    await ask("GET", "resourcequotas")

    refused = await ask("POST", "pods", pod())

    assert refused.body["message"] == (
        'pods "p" is forbidden: failed quota: b: must specify requests.cpu for: c'
    )


async def test_a_pod_is_validated_before_its_overhead_is_refused(ask: Asking) -> None:
    overhead = {"cpu": "1"}
    good = await ask("POST", "pods", pod(overhead=overhead))
    bad = await ask("POST", "pods", pod(containers=[{"name": "c"}], overhead=overhead))
    unknown = await ask("POST", "pods", pod(containers=[{"name": "c"}], runtimeClassName="x"))

    assert (good.status, bad.status, unknown.status) == (403, 422, 403)
    assert unknown.body["message"].endswith('pod rejected: RuntimeClass "x" not found')


async def given_limits(ask: Asking, **item: Any) -> None:
    limits = {"metadata": {"name": "l"}, "spec": {"limits": [item]}}
    assert (await ask("POST", "limitranges", limits)).status == 201
    await ask("GET", "limitranges")


async def test_a_resized_pod_gets_the_defaults_that_came_after_it(ask: Asking) -> None:
    resources = {"requests": {"cpu": "1"}}
    await ask("POST", "pods", pod(containers=[{**CONTAINER, "resources": resources}]))
    await given_limits(ask, type="Container", defaultRequest={"memory": "1Gi"})

    wanted = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
    resized = await ask("PATCH", "pods/p/resize", wanted, kind=STRATEGIC)

    assert resized.body["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "2", "memory": "1Gi"}
    }
    assert "annotations" not in resized.body["metadata"]


async def test_what_is_being_deleted_is_not_limited(ask: Asking) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    for name in ("a", "b"):
        await ask("POST", "persistentvolumeclaims", {"metadata": {"name": name}, "spec": spec})
    await given_limits(ask, type="PersistentVolumeClaim", max={"storage": "1Mi"})
    await ask("DELETE", "persistentvolumeclaims/a")

    label = {"metadata": {"labels": {"x": "y"}}}
    patched = [await ask("PATCH", f"persistentvolumeclaims/{name}", label, kind=MERGE)
               for name in ("a", "b")]  # fmt: skip

    assert [answer.status for answer in patched] == [200, 403]


SIZE = {"cpu": "1", "memory": "1Gi"}
BURSTABLE, GUARANTEED = {"requests": SIZE}, {"requests": SIZE, "limits": SIZE}
LARGE = {"allocatable": {"cpu": "4", "memory": "4Gi"}}
ABLE = {**LARGE, "declaredFeatures": ["GuaranteedQoSPodCPUResize"]}
NODE_PATH = "/api/v1/nodes"


@pytest.mark.parametrize(
    ("labels", "status", "resources", "cpu", "why", "reason"),
    [
        ({"kubernetes.io/os": "linux"}, LARGE, BURSTABLE, "2", "", None),
        ({"kubernetes.io/os": "linux"}, ABLE, GUARANTEED, "2", "", None),
        ({"kubernetes.io/os": "linux"}, LARGE, GUARANTEED, "2",
         "pod update requires features GuaranteedQoSPodCPUResize which are not available on node "
         '"n"', None),
        ({"kubernetes.io/os": "linux"}, LARGE, BURSTABLE, "4500m",
         "Node didn't have enough allocatable resources: cpu, requested: 4500, allocatable: 4000",
         "NodeCapacity"),
        ({"kubernetes.io/os": "linux"}, {}, BURSTABLE, "2",
         "Node didn't have enough allocatable resources: cpu, requested: 2000, allocatable: 0; "
         "memory, requested: 1073741824, allocatable: 0", "NodeCapacity"),
        ({"kubernetes.io/os": "windows"}, LARGE, BURSTABLE, "2",
         'pod resize is only supported on linux nodes, node "n" is "windows"',
         "UnsupportedPlatform"),
        ({}, LARGE, BURSTABLE, "2",
         'pod resize is only supported on linux nodes, node "n" is ""', "UnsupportedPlatform"),
        (None, {}, BURSTABLE, "2", 'node "n" not found', None),
        (None, {}, BURSTABLE, "1", "", None),
    ],
)  # fmt: skip
async def test_a_pod_is_resized_where_its_node_can_do_it(
    ask: Asking,
    labels: dict[str, str] | None,
    status: dict[str, Any],
    resources: dict[str, Any],
    cpu: str,
    why: str,
    reason: str | None,
) -> None:
    if labels is not None:
        node = {"metadata": {"name": "n", "labels": labels}, "status": status}
        assert (await ask("POST", NODE_PATH, node)).status == 201
    container = {**CONTAINER, "resources": resources}
    assert (await ask("POST", "pods", pod(nodeName="n", containers=[container]))).status == 201

    sizes = {part: {"cpu": cpu} for part in resources}
    wanted = {"spec": {"containers": [{"name": "c", "resources": sizes}]}}
    answer = await ask("PATCH", "pods/p/resize", wanted, kind=STRATEGIC)

    assert answer.status == (403 if why else 200), answer.body
    if why:
        assert answer.body["message"] == f'pods "p" is forbidden: {why}'
        assert answer.body["details"].get("causes") == ([{"reason": reason}] if reason else None)


async def given_quota(ask: Asking, hard: dict[str, str], **spec: Any) -> None:
    """One of which nothing is used, as its controller writes it."""
    await ask("POST", "resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}})
    await ask("GET", "resourcequotas")
    status = {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
    await ask("PATCH", "resourcequotas/q/status", status, kind=MERGE)


async def used(ask: Asking) -> JsonObject:
    found: JsonObject = (await ask("GET", "resourcequotas/q")).body["status"]["used"]
    return found


async def test_a_quota_limits_from_the_moment_when_its_status_is_written(ask: Asking) -> None:
    await given_quota(ask, {"pods": "1"})

    codes = [(await ask("POST", "pods", pod(name))).status for name in ("a", "b")]

    assert codes == [201, 403]


async def test_a_deadline_takes_a_pod_into_the_scope_of_another_quota(ask: Asking) -> None:
    await given_quota(ask, {"pods": "1"}, scopes=["Terminating"])
    for name in ("a", "b"):
        await ask("POST", "pods", pod(name))
    deadline = {"spec": {"activeDeadlineSeconds": 5}}

    labelled = await ask("PATCH", "pods/a", {"metadata": {"labels": {"x": "y"}}}, kind=MERGE)
    before = await used(ask)
    first = await ask("PATCH", "pods/a", deadline, kind=MERGE)
    sooner = await ask("PATCH", "pods/a", {"spec": {"activeDeadlineSeconds": 4}}, kind=MERGE)
    second = await ask("PATCH", "pods/b", deadline, kind=MERGE)

    assert (labelled.status, before) == (200, {"pods": "0"})
    assert (first.status, sooner.status, second.status) == (200, 200, 403)
    assert second.body["message"] == (
        'pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
    )


async def test_what_a_claim_was_given_is_charged_without_being_refused(ask: Asking) -> None:
    await given_quota(ask, {"requests.storage": "2Gi"})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await ask("POST", "persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": spec})

    status = {"status": {"allocatedResources": {"storage": "5Gi"}}}
    reported = await ask("PATCH", "persistentvolumeclaims/c/status", status, kind=MERGE)

    assert reported.status == 200
    assert await used(ask) == {"requests.storage": "5Gi"}


async def test_no_quota_counts_events(ask: Asking) -> None:
    hard = {"count/events": "0", "count/events.events.k8s.io": "0"}
    await ask("POST", "resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    status = {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
    await ask("PATCH", "resourcequotas/q/status", status, kind=MERGE)
    await ask("GET", "resourcequotas")

    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}
    made = await ask("POST", "events", event)

    assert made.status == 201


async def test_a_system_priority_class_stays_unless_all_are_deleted(ask: Asking) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"

    kept = await ask("DELETE", f"{classes}/system-node-critical")
    all_of_them = await ask("DELETE", classes)

    assert kept.body["message"] == (
        'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system '
        "priority class and cannot be deleted"
    )
    assert all_of_them.status == 200
    assert (await ask("GET", classes)).body["items"] == []


@pytest.mark.parametrize("plural", ["resourceclaims", "resourceclaimtemplates"])
async def test_a_claim_with_admin_access_needs_a_label_on_its_namespace(
    ask: Asking, plural: str
) -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "c", "adminAccess": True}}
    spec: dict[str, Any] = {"devices": {"requests": [request]}}
    if plural == "resourceclaimtemplates":
        spec = {"spec": spec}
    claim = {"metadata": {"name": "c"}, "spec": spec}
    path = f"/apis/resource.k8s.io/v1/namespaces/default/{plural}"

    refused = await ask("POST", path, claim)
    label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    await ask("PATCH", "/api/v1/namespaces/default", label, kind=MERGE)
    await ask("GET", "/api/v1/namespaces")

    assert refused.body["message"].partition("is invalid: ")[2] == (
        "spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires the "
        "`resource.kubernetes.io/admin-access: true` label on the containing namespace"
    )
    assert (await ask("POST", path, claim)).status == 201


async def test_a_status_grants_no_admin_access_without_the_label(ask: Asking) -> None:
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    request = {"name": "r", "exactly": {"deviceClassName": "c"}}
    claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [request]}}}
    await ask("POST", path, claim)
    result = {"request": "r", "driver": "d.example", "pool": "p", "device": "x"}

    granted = {"devices": {"results": [{**result, "adminAccess": True}]}}
    patch = {"status": {"allocation": granted}}
    refused = await ask("PATCH", f"{path}/c/status", patch, kind=MERGE)

    assert refused.body["details"]["causes"][0]["field"] == (
        "status.allocation.devices.results[0].adminAccess"
    )


async def test_a_refusal_names_what_a_generated_name_became_once_it_is_known(ask: Asking) -> None:
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}}
    await ask("PATCH", "/api/v1/namespaces/default", label, kind=MERGE)
    await ask("GET", "/api/v1/namespaces")
    unnamed = pod(hostNetwork=True)
    unnamed["metadata"] = {"generateName": "p-"}

    unknown = {**unnamed, "spec": {**unnamed["spec"], "priorityClassName": "none"}}
    before = await ask("POST", "pods", unknown)
    after = await ask("POST", "pods", unnamed)

    assert before.body["message"].startswith('pods "p-" is forbidden: no PriorityClass')
    assert re.match(r'pods "p-\w{5}" is forbidden: violates PodSecurity', after.body["message"])
    assert len(after.body["details"]["name"]) == len("p-12345")
