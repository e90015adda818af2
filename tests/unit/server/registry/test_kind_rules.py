"""What single kinds do otherwise than most: generations, status writes, certificates, evictions."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.unit.server.kinds.signing import signing_request
from tests.unit.server.registry.server_under_test import MERGE, Asking

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


async def generations(ask: Asking, path: str, body: Any, change: Any) -> list[int | None]:
    name = body["metadata"]["name"]
    made = await ask("POST", path, body)
    changed = await ask("PATCH", f"{path}/{name}", change, kind=MERGE)
    return [answer.body["metadata"].get("generation") for answer in (made, changed)]


async def test_priority_classes_stay_at_their_first_generation(ask: Asking) -> None:
    body = {"metadata": {"name": "a"}, "value": 1}
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"

    assert await generations(ask, path, body, {"description": "x"}) == [1, 1]


async def test_classes_of_the_system_say_whether_their_pods_may_move(ask: Asking) -> None:
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"

    node = await ask("GET", f"{path}/system-node-critical")
    cluster = await ask("GET", f"{path}/system-cluster-critical")

    assert "must not be moved" in node.body["description"]
    assert cluster.body["description"].endswith("can be moved to another node if necessary.")


async def test_storage_drivers_have_a_generation_once_they_are_changed(ask: Asking) -> None:
    path, body = "/apis/storage.k8s.io/v1/csidrivers", {"metadata": {"name": "a"}, "spec": {}}

    change = {"spec": {"requiresRepublish": True}}

    assert await generations(ask, path, body, change) == [None, 1]


@pytest.mark.parametrize(
    ("path", "spec"),
    [
        (
            "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
            {"priorityLevelConfiguration": {"name": "a"}, "matchingPrecedence": 5},
        ),
        (
            "/apis/storage.k8s.io/v1/volumeattachments",
            {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
        ),
    ],
)
async def test_some_kinds_keep_their_metadata_when_their_status_is_written(
    ask: Asking, path: str, spec: Any
) -> None:
    await ask("POST", path, {"metadata": {"name": "a"}, "spec": spec})

    change = {"metadata": {"labels": {"x": "y"}, "finalizers": ["a.example/b"]}}
    written = await ask("PATCH", f"{path}/a/status", change, kind=MERGE)

    assert written.status == 200
    assert not written.body["metadata"].keys() & {"labels", "finalizers"}


async def test_a_status_needs_a_revision_where_the_object_does(ask: Asking) -> None:
    await ask("POST", BUDGETS, {"metadata": {"name": "a"}, "spec": {"minAvailable": 1}})

    blind = await ask("PUT", f"{BUDGETS}/a/status", {"metadata": {"name": "a"}})

    assert blind.status == 422
    assert "metadata.resourceVersion" in blind.body["message"]


async def test_a_signing_request_says_who_asked_and_when_it_was_decided(ask: Asking) -> None:
    spec = {
        "request": base64.b64encode(signing_request()).decode(),
        "signerName": "example.com/x",
        "usages": ["client auth"],
    }
    false = {"username": "someone-else", "uid": "7"}

    made = await ask("POST", REQUESTS, {"metadata": {"name": "a"}, "spec": {**spec, **false}})
    verdict = [{"type": "Approved", "status": "True", "reason": "r"}]
    approval = {"status": {"conditions": verdict}}
    refused = await ask("PATCH", f"{REQUESTS}/a/status", approval, kind=MERGE)
    approved = await ask("PATCH", f"{REQUESTS}/a/approval", approval, kind=MERGE)
    repeated = await ask("PATCH", f"{REQUESTS}/a/status", approval, kind=MERGE)

    assert made.body["spec"]["username"] == "kubernetes-admin"
    assert "system:masters" in made.body["spec"]["groups"]
    assert "uid" not in made.body["spec"]
    assert refused.body["details"]["causes"][0]["message"] == (
        'Forbidden: updates may not add a condition of type "Approved"'
    )
    [condition] = approved.body["status"]["conditions"]
    assert condition["lastUpdateTime"] and condition["lastTransitionTime"]
    assert repeated.body["status"] == approved.body["status"]


async def test_what_the_server_serves_itself_is_available(ask: Asking) -> None:
    path = "/apis/apiregistration.k8s.io/v1/apiservices"
    spec = {"group": "a.example", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}

    made = await ask("POST", path, {"metadata": {"name": "v1.a.example"}, "spec": spec})

    [condition] = made.body["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("True", "Local")


async def running_pod(ask: Asking) -> None:
    containers = [{"name": "c", "image": "i"}]
    spec = {"containers": containers, "nodeName": "n"}
    await ask("POST", "pods", {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": spec})
    await ask("PATCH", "pods/p/status", {"status": {"phase": "Running"}}, kind=MERGE)


async def test_an_evicted_pod_says_so_while_it_ends(ask: Asking) -> None:
    await running_pod(ask)

    other = {"metadata": {"name": "p"}, "deleteOptions": {"preconditions": {"uid": "x"}}}
    refused = await ask("POST", "pods/p/eviction", other)
    await ask("POST", "pods/p/eviction", {"metadata": {"name": "p"}})

    assert (refused.status, refused.body["details"]["kind"]) == (409, "Pod")
    ending = (await ask("GET", "pods/p")).body
    assert ending["metadata"]["deletionTimestamp"]
    [condition] = ending["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == (
        "DisruptionTarget",
        "EvictionByEvictionAPI",
    )


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/apis/networking.k8s.io/v1/servicecidrs", 422),
        ("/apis/networking.k8s.io/v1/ipaddresses", 422),
        ("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", 201),
    ],
)
async def test_an_object_that_is_nothing_but_a_name_is_validated(
    ask: Asking, path: str, status: int
) -> None:
    answered = await ask("POST", path, {"metadata": {"name": "a"}})

    assert answered.status == status


async def test_a_claim_that_wants_no_device_shows_that_it_wants_none(ask: Asking) -> None:
    body = {"metadata": {"name": "a"}, "spec": {}}

    claim = await ask("POST", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", body)
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"
    template = await ask("POST", path, body)

    wanted = {"devices": {"requests": None}}
    assert claim.body["spec"] == wanted
    assert template.body["spec"] == {"metadata": {}, "spec": wanted}


@pytest.mark.parametrize(
    ("owner", "field", "text"),
    [
        (
            {"apiVersion": "a/b/c", "kind": "A", "name": "a", "uid": "u"},
            "metadata.ownerReferences.apiVersion",
            'Invalid value: "a/b/c": version must not be empty',
        ),
        (
            {"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "u"},
            "metadata.ownerReferences",
            'Invalid value: {"apiVersion":"v1","kind":"Event","name":"a","uid":"u"}: '
            "/v1, Kind=Event is disallowed from being an owner",
        ),
        (
            {"apiVersion": "v1", "kind": "A", "name": "a"},
            "metadata.ownerReferences.uid",
            'Invalid value: "": must not be empty',
        ),
    ],
)
async def test_owners_that_cannot_be(ask: Asking, owner: Any, field: str, text: str) -> None:
    body = {"metadata": {"name": "a", "ownerReferences": [owner]}}

    refused = await ask("POST", "configmaps", body)

    [cause] = refused.body["details"]["causes"]
    assert cause["field"] == field
    assert cause["message"].endswith(text)


async def test_only_one_owner_controls_an_object(ask: Asking) -> None:
    owners = [
        {"uid": uid, "apiVersion": "v1", "kind": kind, "name": "x", "controller": True}
        for uid, kind in (("1", "A"), ("2", "B"))
    ]

    refused = await ask(
        "POST", "configmaps", {"metadata": {"name": "a", "ownerReferences": owners}}
    )

    assert refused.status == 422
    assert refused.body["message"].endswith('Found "true" in references for A/x and B/x')


async def test_the_first_precedence_belongs_to_the_exempt_schema(ask: Asking) -> None:
    path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
    spec = {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 1}

    refused = await ask("POST", path, {"metadata": {"name": "a"}, "spec": spec})

    assert refused.status == 422
    assert "only the schema named 'exempt'" in refused.body["message"]


async def test_the_name_of_a_driver_is_reported_as_it_was_given(ask: Asking) -> None:
    path, name = "/apis/storage.k8s.io/v1/volumeattachments", "A" * 64 + "_"
    spec = {"attacher": name, "nodeName": "n", "source": {"persistentVolumeName": "v"}}

    refused = await ask("POST", path, {"metadata": {"name": "a"}, "spec": spec})

    long, odd = refused.body["details"]["causes"]
    assert long["message"] == "Too long: may not be more than 63 bytes"
    assert odd["message"].startswith(f'Invalid value: "{name}": ')


async def test_finalizers_and_phase_of_a_namespace_are_checked(ask: Asking) -> None:
    path = "/api/v1/namespaces"
    await ask("POST", path, {"metadata": {"name": "a"}})

    unqualified = {"metadata": {"name": "a"}, "spec": {"finalizers": ["bad"]}}
    odd = await ask("PUT", f"{path}/a/finalize", unqualified)
    going = {"status": {"phase": "Terminating"}}
    early = await ask("PATCH", f"{path}/a/status", going, kind=MERGE)
    unsaid = await ask("PUT", f"{path}/a/status", {"metadata": {"name": "a"}})

    assert odd.body["details"]["causes"][0]["field"] == "spec.finalizers[0]"
    assert early.body["details"]["causes"][0]["message"] == (
        "Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
    )
    assert unsaid.body["status"] == {"phase": "Active"}


async def test_ephemeral_containers_stay(ask: Asking) -> None:
    await running_pod(ask)
    added = {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}}
    await ask("PATCH", "pods/p/ephemeralcontainers", added, kind=MERGE)

    without = {"spec": {"ephemeralContainers": None}}
    removed = await ask("PATCH", "pods/p/ephemeralcontainers", without, kind=MERGE)

    assert removed.status == 422
    assert "may not be removed" in removed.body["message"]


async def test_names_of_budgets_and_old_events_may_have_any_letters(ask: Asking) -> None:
    named = {"metadata": {"name": "Odd_Name", "namespace": "default"}}
    about = {"involvedObject": {"kind": "Pod", "namespace": "default", "name": "a"}}

    budget = await ask("POST", BUDGETS, named)
    event = await ask("POST", "/api/v1/namespaces/default/events", {**named, **about})
    account = await ask("POST", "/api/v1/namespaces/default/serviceaccounts", named)

    assert [budget.status, event.status, account.status] == [201, 201, 422]


async def test_a_write_of_a_status_leaves_who_owns_a_pod(ask: Asking) -> None:
    await running_pod(ask)
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
    given = {"metadata": {"ownerReferences": [owner]}, "status": {"reason": "r"}}

    written = await ask("PATCH", "pods/p/status?fieldManager=k", given, kind=MERGE)

    assert written.body["status"]["reason"] == "r"
    assert "ownerReferences" not in written.body["metadata"]
    (entry,) = (one for one in written.body["metadata"]["managedFields"] if one["manager"] == "k")
    assert list(entry["fieldsV1"]) == ["f:status"]


async def test_a_write_of_a_status_leaves_the_counter_of_templates(ask: Asking) -> None:
    path = "/apis/apps/v1/namespaces/default/daemonsets"
    containers = [{"name": "c", "image": "i"}]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    await ask("POST", path, {"metadata": {"name": "d"}, "spec": spec})

    numbers = {"currentNumberScheduled": 1, "numberMisscheduled": 0, "desiredNumberScheduled": 1,
               "numberReady": 1}  # fmt: skip
    written = await ask(
        "PUT", f"{path}/d/status", {"metadata": {"name": "d"}, "spec": spec, "status": numbers}
    )

    counter = "deprecated.daemonset.template.generation"
    assert written.body["metadata"]["annotations"] == {counter: "1"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/apis/coordination.k8s.io/v1/namespaces/default/leases", {}, 201),
        (BUDGETS, {"spec": {"minAvailable": 1}}, 201),
        ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {}, 201),
        ("/api/v1/namespaces/default/configmaps", {}, 422),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles", {"rules": []}, 422),
    ],
)
async def test_kinds_that_kubernetes_validates_plainly_take_plain_finalizers(
    ask: Asking, path: str, body: Any, status: int
) -> None:
    made = await ask("POST", path, {"metadata": {"name": "a", "finalizers": ["x"]}, **body})

    assert made.status == status


@pytest.mark.parametrize(
    ("change", "counted"),
    [
        ({"metadata": {"labels": {"a": "b"}}}, 2),
        ({"metadata": {"annotations": {"a": "b"}}}, 1),
        ({"ports": [{"port": 2}]}, 2),
    ],
)
async def test_endpoint_slices_count_changes_of_their_labels_too(
    ask: Asking, change: Any, counted: int
) -> None:
    body = {"metadata": {"name": "a"}, "addressType": "IPv4", "ports": [{"port": 1}]}

    assert await generations(ask, SLICES, body, change) == [1, counted]


async def test_endpoints_have_no_topology_of_the_version_before(ask: Asking) -> None:
    endpoint = {"addresses": ["10.1.2.3"], "deprecatedTopology": {"a": "b"}}
    body = {"metadata": {"name": "a"}, "addressType": "IPv4", "endpoints": [endpoint]}

    made = await ask("POST", SLICES, body)
    other = {**endpoint, "addresses": ["10.1.2.4"]}
    changed = await ask("PATCH", f"{SLICES}/a", {"endpoints": [other]}, kind=MERGE)

    for answer, address in ((made, "10.1.2.3"), (changed, "10.1.2.4")):
        assert answer.body["endpoints"] == [{"addresses": [address], "conditions": {}}]


async def test_service_accounts_name_secrets_of_their_own_namespace_alone(ask: Asking) -> None:
    reference = {"kind": "Secret", "namespace": "other", "uid": "u"}
    body = {"metadata": {"name": "a"}, "secrets": [{**reference, "name": "s"}]}

    made = await ask("POST", "serviceaccounts", body)
    change = {"secrets": [{**reference, "name": "t"}, {"name": "s"}]}
    changed = await ask("PATCH", "serviceaccounts/a", change, kind=MERGE)

    assert made.body["secrets"] == [{"name": "s"}]
    assert changed.body["secrets"] == [{"name": "t"}, {"name": "s"}]


async def test_a_volume_says_since_when_it_is_in_its_phase(ask: Asking) -> None:
    long_ago, path = "2001-01-01T00:00:00Z", "/api/v1/persistentvolumes"
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1"},
        "hostPath": {"path": "/a"},
    }
    await ask("POST", path, {"metadata": {"name": "a"}, "spec": spec})

    async def since(**status: Any) -> Any:
        answer = await ask("PATCH", f"{path}/a/status", {"status": status}, kind=MERGE)
        return answer.body["status"]["lastPhaseTransitionTime"]

    assert await since(phase="Available", lastPhaseTransitionTime=long_ago) == long_ago
    assert await since(phase="Available", lastPhaseTransitionTime=None) == long_ago
    assert await since(phase="Bound") != long_ago
    assert await since(phase="Released", lastPhaseTransitionTime=None) != long_ago


async def test_a_taint_that_an_update_leaves_undated_begins_with_it(ask: Asking) -> None:
    path, taint = "/apis/resource.k8s.io/v1/resourceslices", {"key": "a", "effect": "NoSchedule"}
    long_ago = "2001-01-01T00:00:00Z"

    def body(**added: str) -> Any:
        devices = [{"name": "d", "taints": [{**taint, **added}]}]
        pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "d.example.com", "nodeName": "n", "pool": pool, "devices": devices}
        return {"metadata": {"name": "a"}, "spec": spec}

    await ask("POST", path, body(timeAdded=long_ago))
    kept = await ask("PUT", f"{path}/a", body(timeAdded=long_ago))
    anew = await ask("PUT", f"{path}/a", body())

    added = [answer.body["spec"]["devices"][0]["taints"][0]["timeAdded"] for answer in (kept, anew)]
    assert added[0] == long_ago
    assert added[1] > long_ago
    assert [answer.body["metadata"]["generation"] for answer in (kept, anew)] == [1, 2]


@pytest.mark.parametrize(
    ("change", "is_dated_anew"),
    [
        ({"effect": "NoSchedule"}, True),
        ({"effect": "NoSchedule", "timeAdded": "2002-01-01T00:00:00Z"}, False),
        ({"value": "b"}, False),
        ({"timeAdded": None}, True),
    ],
)
async def test_the_time_of_a_rule_that_taints_devices_is_that_of_its_effect(
    ask: Asking, change: dict[str, Any], is_dated_anew: bool
) -> None:
    path, long_ago = "/apis/resource.k8s.io/v1/devicetaintrules", "2001-01-01T00:00:00Z"
    taint = {"key": "a", "effect": "NoExecute", "timeAdded": long_ago}
    await ask("POST", path, {"metadata": {"name": "a"}, "spec": {"taint": taint}})

    changed = await ask("PATCH", f"{path}/a", {"spec": {"taint": change}}, kind=MERGE)

    added = changed.body["spec"]["taint"]["timeAdded"]
    assert (added != change.get("timeAdded", long_ago)) == is_dated_anew
    assert changed.body["metadata"]["generation"] == 2


async def test_a_rule_that_taints_devices_is_not_overwritten_unseen(ask: Asking) -> None:
    path, taint = "/apis/resource.k8s.io/v1/devicetaintrules", {"key": "a", "effect": "NoExecute"}
    body = {"metadata": {"name": "a"}, "spec": {"taint": taint}}
    await ask("POST", path, body)

    unseen = await ask("PUT", f"{path}/a", body)

    assert unseen.status == 422
    assert "metadata.resourceVersion" in unseen.body["message"]
