"""Create, update and delete, whatever the kind (server.md §6)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.registry import metadata
from tests.unit.server.registry.server_under_test import MERGE, Asking

STRATEGIC = "application/strategic-merge-patch+json"


def config_map(name: str = "a", **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **meta}, "data": {"k": "1"}}


def pod(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


async def test_what_the_server_owns_cannot_be_chosen(ask: Asking) -> None:
    mine = {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/x"}

    made = await ask("POST", "configmaps", config_map(**mine))

    assert made.status == 201
    assert not mine.items() & made.body["metadata"].items()


@pytest.mark.parametrize(("given", "shown"), [("1", "1"), ("0", None), ("abc", None)])
async def test_a_dry_run_of_a_create_shows_the_resource_version_it_was_given(
    ask: Asking, given: str, shown: str | None
) -> None:
    made = await ask("POST", "configmaps?dryRun=All", config_map(resourceVersion=given))

    assert made.status == 201
    assert made.body["metadata"].get("resourceVersion") == shown


async def test_generated_names_differ(ask: Asking) -> None:
    body = {"metadata": {"generateName": "x-"}}

    names = {(await ask("POST", "configmaps", body)).body["metadata"]["name"] for _ in range(20)}

    assert len(names) == 20
    assert {len(name) for name in names} == {7}


@pytest.mark.parametrize(
    ("path", "prefix", "refused"),
    [
        ("configmaps", "x" * 254, ["generateName"]),
        ("configmaps", "x" * 70, []),
        ("configmaps", "a_b", ["generateName", "name"]),
        ("configmaps", "A-", ["name"]),  # the sign before the dash is not looked at
        ("configmaps", "AB-", ["generateName", "name"]),
        ("services", "x" * 64, ["generateName"]),
        ("events", "A_-", []),
        ("events", "..", []),
        ("events", "a/", ["generateName", "name"]),
    ],
)
async def test_the_prefix_of_a_generated_name_is_validated_as_in_kubernetes(
    ask: Asking, path: str, prefix: str, refused: list[str]
) -> None:
    needed = {"spec": {"ports": [{"port": 80}]}, "involvedObject": {"namespace": "default"}}

    made = await ask("POST", path, {"metadata": {"generateName": prefix}, **needed})

    causes = made.body.get("details", {}).get("causes", [])
    assert [cause["field"].removeprefix("metadata.") for cause in causes] == refused


async def test_a_generated_name_that_is_taken_is_tried_anew_with_what_was_sent(
    ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ask("POST", "configmaps", config_map("x-taken"))
    names = iter(["x-taken", "x-taken", "x-free"])
    monkeypatch.setattr(metadata, "generate_name", lambda prefix: next(names))
    body = {"metadata": {"generateName": "x-", "uid": "mine"}, "data": {"k": "2"}}

    made = await ask("POST", "configmaps", body)

    assert (made.status, made.body["metadata"]["name"]) == (201, "x-free")
    assert made.body["data"] == {"k": "2"}
    assert made.body["metadata"]["uid"] != "mine"


PATCHES = {
    MERGE: {"status": {"phase": "Running"}},
    STRATEGIC: {"status": {"phase": "Running"}},
    "application/json-patch+json": [{"op": "add", "path": "/status/phase", "value": "Running"}],
}


@pytest.mark.parametrize("kind", PATCHES)
async def test_a_patch_of_the_status_leaves_the_rest_as_it_is(ask: Asking, kind: str) -> None:
    made = (await ask("POST", "pods", pod())).body

    patched = (await ask("PATCH", "pods/p/status", PATCHES[kind], kind=kind)).body
    again = (await ask("PATCH", "pods/p/status", PATCHES[kind], kind=kind)).body

    assert list(patched) == ["kind", "apiVersion", "metadata", "spec", "status"]
    assert patched["spec"] == made["spec"]
    assert patched["status"] == made["status"] | {"phase": "Running"}
    assert again == patched == (await ask("GET", "pods/p")).body


async def test_a_patch_of_the_status_does_not_change_the_spec(ask: Asking) -> None:
    made = (await ask("POST", "pods", pod(nodeSelector={"a": "1"}))).body
    change = {"spec": {"nodeSelector": {"b": "2"}}, "status": {"phase": "Running"}}

    patched = (await ask("PATCH", "pods/p/status", change, kind=MERGE)).body

    assert patched["spec"] == made["spec"]
    assert patched["status"]["phase"] == "Running"


@pytest.mark.parametrize("path", ["pods/p", "pods/p/status"])
@pytest.mark.parametrize("kind", [MERGE, STRATEGIC])
async def test_a_patch_is_refused_for_a_wrong_type_in_a_part_that_the_endpoint_does_not_change(
    ask: Asking, path: str, kind: str
) -> None:
    await ask("POST", "pods", pod())
    change = {"spec": {"nodeSelector": 1}, "status": {"phase": 1}}

    refused = await ask("PATCH", path, change, kind=kind)

    assert refused.status >= 400


@pytest.mark.parametrize("kind", [MERGE, STRATEGIC])
async def test_a_patch_of_the_labels_keeps_the_status(ask: Asking, kind: str) -> None:
    made = (await ask("POST", "pods", pod())).body

    patched = (await ask("PATCH", "pods/p", {"metadata": {"labels": {"a": "1"}}}, kind=kind)).body

    assert list(patched) == list(made)
    assert (patched["spec"], patched["status"]) == (made["spec"], made["status"])
    assert patched["metadata"]["labels"] == {"a": "1"}


async def test_an_update_without_change_keeps_its_revision_whatever_the_order(
    ask: Asking,
) -> None:
    made = (await ask("POST", "configmaps", config_map(labels={"a": "1", "b": "2"}))).body
    turned = {"data": {"k": "1"}, "metadata": {"labels": {"b": "2", "a": "1"}, "name": "a"}}

    again = await ask("PUT", "configmaps/a", turned)

    assert again.body["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_updates_that_overtake_each_other_all_happen_as_they_were_sent(
    tmp_path: Path,
) -> None:
    """Each attempt but the first begins with the body once more, and warns no second time."""
    async with ApiServer(ServerConfig(data_dir=tmp_path)) as server:
        ask = Asking(server)
        await ask("POST", "configmaps", config_map())
        bodies = [config_map(labels={"n": str(n)}) | {"data": {"n": str(n)}} for n in range(20)]

        answers = await asyncio.gather(
            *(ask("PUT", "configmaps/a", body | {"wrong": n}) for n, body in enumerate(bodies))
        )

    assert {answer.status for answer in answers} == {200}
    assert [answer.body["data"] for answer in answers] == [body["data"] for body in bodies]
    assert [answer.body["metadata"]["labels"]["n"] for answer in answers] == list(
        map(str, range(20))
    )
    assert {answer.headers["Warning"] for answer in answers} == {
        '299 - "unknown field \\"wrong\\""'
    }
    assert len({answer.body["metadata"]["resourceVersion"] for answer in answers}) == 20


async def test_a_stale_revision_conflicts(ask: Asking) -> None:
    made = (await ask("POST", "configmaps", config_map())).body
    await ask("PATCH", "configmaps/a", {"data": {"k": "2"}}, kind=MERGE)

    late = await ask("PUT", "configmaps/a", made)

    assert (late.status, late.body["reason"]) == (409, "Conflict")


async def test_a_put_of_another_namespace_is_refused_before_the_object_is_missed(
    ask: Asking,
) -> None:
    refused = await ask("PUT", "configmaps/missing", config_map("missing", namespace="other"))

    assert (refused.status, refused.body["message"]) == (
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    )


async def test_patches_at_once_all_succeed(ask: Asking) -> None:
    await ask("POST", "configmaps", config_map())

    answers = await asyncio.gather(
        *(ask("PATCH", "configmaps/a", {"data": {f"k{n}": "v"}}, kind=MERGE) for n in range(20))
    )

    assert {answer.status for answer in answers} == {200}
    assert len((await ask("GET", "configmaps/a")).body["data"]) == 21


async def test_only_one_of_many_creates_wins(ask: Asking) -> None:
    answers = await asyncio.gather(*(ask("POST", "configmaps", config_map()) for _ in range(10)))

    assert sorted(answer.status for answer in answers) == [201] + [409] * 9


async def test_status_and_spec_have_their_own_ways_in(ask: Asking) -> None:
    await ask("POST", "pods", pod())
    status = {"status": {"phase": "Running"}, "spec": {"nodeName": "n"}}

    through_status = await ask("PATCH", "pods/p/status", status, kind=MERGE)
    through_pod = await ask("PATCH", "pods/p", {"status": {"phase": "Failed"}}, kind=MERGE)

    assert through_status.body["status"]["phase"] == "Running"
    assert "nodeName" not in through_status.body["spec"]
    assert through_pod.body["status"]["phase"] == "Running"


async def test_a_dry_run_shows_and_stores_nothing(ask: Asking) -> None:
    answer = await ask("POST", "configmaps?dryRun=All", config_map())

    assert (answer.status, "resourceVersion" in answer.body["metadata"]) == (201, False)
    assert (await ask("GET", "configmaps/a")).status == 404


@pytest.mark.parametrize(
    ("query", "name", "code"), [("", "a", 500), ("", "Bad_Name", 422), ("?dryRun=All", "a", 201)]
)
async def test_a_new_object_is_not_stored_with_a_revision(
    ask: Asking, query: str, name: str, code: int
) -> None:
    body = config_map()
    body["metadata"] |= {"name": name, "resourceVersion": "7"}

    answer = await ask("POST", f"configmaps{query}", body)

    assert answer.status == code
    assert (await ask("GET", "configmaps/a")).status == 404


async def test_an_object_goes_with_its_last_finalizer(ask: Asking) -> None:
    await ask("POST", "configmaps", config_map(finalizers=["x.io/a", "x.io/b"]))

    marked = await ask("DELETE", "configmaps/a")
    half = await ask("PATCH", "configmaps/a", {"metadata": {"finalizers": ["x.io/b"]}}, kind=MERGE)
    last = await ask("PATCH", "configmaps/a", {"metadata": {"finalizers": None}}, kind=MERGE)

    assert marked.body["metadata"]["deletionGracePeriodSeconds"] == 0
    assert (half.status, last.status) == (200, 200)
    assert (await ask("GET", "configmaps/a")).status == 404


async def test_a_pod_on_a_node_gets_its_grace_and_it_can_only_shorten(ask: Asking) -> None:
    await ask("POST", "pods", pod(nodeName="n"))

    first = (await ask("DELETE", "pods/p")).body["metadata"]
    longer = (await ask("DELETE", "pods/p?gracePeriodSeconds=60")).body["metadata"]
    shorter = (await ask("DELETE", "pods/p?gracePeriodSeconds=5")).body["metadata"]

    graces = [m["deletionGracePeriodSeconds"] for m in (first, longer, shorter)]
    assert graces == [30, 30, 5]
    assert shorter["deletionTimestamp"] < first["deletionTimestamp"]


async def test_a_precondition_that_fails_deletes_nothing(ask: Asking) -> None:
    await ask("POST", "configmaps", config_map())
    wrong = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "other"}}

    refused = await ask("DELETE", "configmaps/a", wrong)

    assert refused.status == 409
    assert (await ask("GET", "configmaps/a")).status == 200


async def test_deleting_many_deletes_what_is_selected(ask: Asking) -> None:
    for number in range(4):
        await ask("POST", "configmaps", config_map(f"m{number}", labels={"even": str(number % 2)}))

    gone = await ask("DELETE", "configmaps?labelSelector=even%3D0")

    assert [item["metadata"]["name"] for item in gone.body["items"]] == ["m0", "m2"]
    left = (await ask("GET", "configmaps")).body["items"]
    assert [item["metadata"]["name"] for item in left] == ["m1", "m3"]


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_cannot_be_deleted(ask: Asking, name: str) -> None:
    assert (await ask("DELETE", f"/api/v1/namespaces/{name}")).status == 403


async def test_a_namespace_ends_when_it_is_finalized_and_takes_nothing_in_between(
    ask: Asking,
) -> None:
    await ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})

    marked = (await ask("DELETE", "/api/v1/namespaces/n")).body
    refused = await ask("POST", "/api/v1/namespaces/n/configmaps", config_map())
    nameless = await ask("POST", "/api/v1/namespaces/n/configmaps", {})
    marked["spec"] = {}
    await ask("PUT", "/api/v1/namespaces/n/finalize", marked)
    await ask("DELETE", "/api/v1/namespaces/n")

    assert marked["status"]["phase"] == "Terminating"
    assert refused.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    assert nameless.body["message"].startswith('configmaps "Unknown" is forbidden: unable to')
    assert (await ask("GET", "/api/v1/namespaces/n")).status == 404


async def test_a_pod_is_bound_once(ask: Asking) -> None:
    await ask("POST", "pods", pod())
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}

    first = await ask("POST", "pods/p/binding", binding)
    second = await ask("POST", "pods/p/binding", binding)

    assert (first.status, second.status) == (201, 409)
    assert (await ask("GET", "pods/p")).body["spec"]["nodeName"] == "n1"


async def test_an_eviction_asks_the_budget(ask: Asking) -> None:
    running = pod()
    running["metadata"]["labels"] = {"app": "a"}
    await ask("POST", "pods", running)
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await ask("PATCH", "pods/p/status", {"status": ready}, kind=MERGE)
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    selector = {"matchLabels": {"app": "a"}}
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}}
    await ask("POST", path, budget)
    eviction = {"metadata": {"name": "p"}}

    unknown = await ask("POST", "pods/p/eviction", eviction)
    status = {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2,
              "desiredHealthy": 1, "expectedPods": 2}  # fmt: skip
    await ask("PATCH", f"{path}/b/status", {"status": status}, kind=MERGE)
    allowed = await ask("POST", "pods/p/eviction", eviction)

    assert (unknown.status, unknown.headers["Retry-After"]) == (429, "10")
    assert allowed.status == 201
    after = (await ask("GET", f"{path}/b")).body["status"]
    assert (after["disruptionsAllowed"], list(after["disruptedPods"])) == (0, ["p"])


async def test_scale_changes_the_size_and_nothing_else(ask: Asking) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": pod()["spec"]}
    body = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": labels},
            "template": template}}  # fmt: skip
    await ask("POST", path, body)

    scaled = await ask("PATCH", f"{path}/d/scale", {"spec": {"replicas": 4}}, kind=MERGE)

    assert scaled.body["kind"] == "Scale"
    assert scaled.body["status"]["selector"] == "app=a"
    found = (await ask("GET", f"{path}/d")).body
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (4, 2)


async def sized(ask: Asking, plural: str, group: str = "/apis/apps/v1") -> str:
    """A new workload ``d``; where its Scale is."""
    path = f"{group}/namespaces/default/{plural}"
    selector: dict[str, Any] = {"a": "b"}
    if group != "/api/v1":
        selector = {"matchLabels": selector}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
    spec = {"selector": selector, "template": template, "serviceName": "s"}
    await ask("POST", f"{path}?fieldValidation=Ignore", {"metadata": {"name": "d"}, "spec": spec})
    return f"{path}/d/scale"


@pytest.mark.parametrize(
    ("group", "plural", "named"),
    [
        ("/apis/apps/v1", "deployments", "deployments/scale.apps"),
        ("/apis/apps/v1", "replicasets", "replicasets/scale.apps"),
        ("/apis/apps/v1", "statefulsets", "statefulsets/scale.apps"),
        ("/api/v1", "replicationcontrollers", "replicationcontrollers/scale"),
    ],
)
async def test_a_patch_of_another_objects_scale_names_the_scale(
    ask: Asking, group: str, plural: str, named: str
) -> None:
    path = await sized(ask, plural, group)

    other = await ask("PATCH", path, {"metadata": {"uid": "u"}}, kind=MERGE)

    assert other.body["message"].startswith(
        f'Operation cannot be fulfilled on {named} "d": Precondition failed: UID in precondition'
    )


async def test_a_scale_is_put_only_where_it_belongs(ask: Asking) -> None:
    path = await sized(ask, "deployments")
    spec = {"replicas": 3}

    elsewhere = await ask("PUT", path, {"metadata": {"name": "d", "namespace": "o"}, "spec": spec})
    another = await ask("PUT", path, {"metadata": {"name": "d", "uid": "u"}, "spec": spec})
    past = await ask("PUT", path, {"apiVersion": "apps/v1beta1", "kind": "Scale", "spec": spec})

    assert elsewhere.body["message"] == (
        "the namespace of the provided object does not match the namespace sent on the request"
    )
    assert another.body["message"].startswith(
        'Operation cannot be fulfilled on deployments.apps "d": StorageError: invalid object, '
        "Code: 4, Key: /registry/deployments/default/d, ResourceVersion: 0, "
    )
    assert past.body["message"] == (
        "the API version in the data (apps/v1beta1) does not match the expected API version "
        "(autoscaling/v1)"
    )


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("authorization.k8s.io/v1/selfsubjectaccessreviews", {"resourceAttributes": {}}),
        ("authorization.k8s.io/v1/subjectaccessreviews", {"user": "u", "resourceAttributes": {}}),
        ("authentication.k8s.io/v1/tokenreviews", {"token": "x"}),
    ],
)
async def test_a_review_of_the_whole_cluster_loses_the_namespace_it_names(
    ask: Asking, path: str, body: dict[str, Any]
) -> None:
    made = await ask("POST", f"/apis/{path}", {"metadata": {"namespace": "x"}, "spec": body})

    assert (made.status, made.body["metadata"]) == (201, {})


async def test_a_review_of_a_user_whose_extras_are_null_is_answered(ask: Asking) -> None:
    about = {"user": "u", "extra": {"scopes": None}, "resourceAttributes": {"verb": "get"}}

    made = await ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": about})

    assert made.status == 201
    assert made.body["spec"]["extra"] == {"scopes": None}
