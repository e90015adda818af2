"""Admission webhooks: whom they are asked about, in which order, and what their answers do."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from proreus.client import ApiError, Client, Forbidden, NotFound
from tests.admission.webhooks import (
    CONFIG_MAPS,
    EVERYTHING,
    Behaviour,
    Json,
    WebhookProcess,
    config_map,
    configurations,
    configure,
)

LABEL: list[Json] = [{"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}]
DENY: Behaviour = {"response": {"allowed": False, "status": {"message": "not today"}}}


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Of a webhook that no other test calls."""
    return f"hook-{uuid.uuid4().hex[:12]}"


async def created(client: Client, name: str = "a", **metadata: Any) -> Any:
    return await client.core_v1.configmaps("default").create(config_map(name, **metadata))


async def test_a_mutating_webhook_changes_what_is_stored(
    client: Client, process: WebhookProcess, name: str
) -> None:
    patch = [*LABEL, {"op": "add", "path": "/data/more", "value": "text"}]
    process.behave(name, {"patch": patch})
    await configure(client, "Mutating", process.hook(name))

    made = await created(client)
    stored = await client.core_v1.configmaps("default").get("a")

    assert stored.to_dict() == made.to_dict()
    assert stored.labels == {"seen": "yes"}
    assert stored.to_dict()["data"] == {"key": "value", "more": "text"}
    (asked,) = process.requests(name)
    assert asked["operation"] == "CREATE"
    assert asked["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert asked["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (asked["name"], asked["namespace"], asked["dryRun"]) == ("a", "default", False)
    assert asked["options"]["kind"] == "CreateOptions"
    assert asked["userInfo"]["groups"] == ["system:masters", "system:authenticated"]
    assert asked["object"]["data"] == {"key": "value"}
    assert asked["oldObject"] is None
    assert process.calls(name)[0]["query"] == "timeout=10s"


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
async def test_no_webhook_is_asked_about_reviews(
    client: Client, process: WebhookProcess, name: str, kind: str
) -> None:
    process.behave(name, DENY)
    await configure(client, kind, process.hook(name, rule=EVERYTHING))
    reviews = client.resource("selfsubjectaccessreviews.v1.authorization.k8s.io")

    answered = await reviews.create({"spec": {"resourceAttributes": {"verb": "get"}}})

    assert answered["status"]["allowed"] is True
    assert process.requests(name) == []


async def test_a_validating_webhook_refuses_in_its_own_words(
    client: Client, process: WebhookProcess, name: str
) -> None:
    status = {"message": "not today", "code": 403, "reason": "Forbidden"}
    process.behave(name, {"response": {"allowed": False, "status": status, "warnings": ["beware"]}})
    await configure(client, "Validating", process.hook(name))

    with pytest.raises(Forbidden) as refused:
        await created(client)

    message = f'admission webhook "{name}.example.com" denied the request: not today'
    assert refused.value.message == message
    with pytest.raises(NotFound):
        await client.core_v1.configmaps("default").get("a")


async def test_webhooks_are_called_by_the_names_of_their_configurations_and_in_their_order(
    client: Client, process: WebhookProcess, name: str
) -> None:
    names = [f"{name}-{number}" for number in range(4)]
    for one in names:
        process.behave(one, {"patch": LABEL})
    first, second, third, fourth = (process.hook(one) for one in names)
    await configure(client, "Mutating", third, second, name="b")
    await configure(client, "Mutating", fourth, name="c")
    await configure(client, "Mutating", first, name="a")

    await created(client)

    paths = [call["path"] for call in process.calls() if name in call["path"]]
    assert paths == [f"/{name}-{number}" for number in (0, 2, 1, 3)]
    assert process.requests(names[3])[0]["object"]["metadata"]["labels"] == {"seen": "yes"}


async def test_an_update_and_a_delete_show_the_object_as_it_was(
    client: Client, process: WebhookProcess, name: str
) -> None:
    maps = client.core_v1.configmaps("default")
    await maps.create(config_map("a"))
    await configure(client, "Validating", process.hook(name))

    await maps.patch("a", {"data": {"key": "new"}})
    await maps.delete("a", grace_period_s=0)

    update, delete = process.requests(name)
    assert (update["operation"], update["options"]["kind"]) == ("UPDATE", "UpdateOptions")
    assert update["object"]["data"] == {"key": "new"}
    assert update["oldObject"]["data"] == {"key": "value"}
    assert (delete["operation"], delete["options"]["kind"]) == ("DELETE", "DeleteOptions")
    assert delete["options"]["gracePeriodSeconds"] == 0
    assert (delete["object"], delete["oldObject"]["data"]) == (None, {"key": "new"})


async def test_each_object_of_a_collection_is_asked_about_before_it_goes(
    client: Client, process: WebhookProcess, name: str
) -> None:
    maps = client.core_v1.configmaps("default")
    for one in ("a", "b"):
        await maps.create(config_map(one))
    process.behave(name, DENY)
    await configure(
        client, "Validating", process.hook(name, matchConditions=[
            {"name": "b", "expression": "oldObject.metadata.name == 'b'"},
        ], rule={**CONFIG_MAPS, "operations": ["DELETE"]}),
    )  # fmt: skip

    with pytest.raises(ApiError, match="denied the request: not today"):
        await maps.delete_collection()

    assert [one["oldObject"]["metadata"]["name"] for one in process.requests(name)] == ["b"]


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
async def test_configurations_of_admission_are_never_refused_by_a_webhook(
    client: Client, process: WebhookProcess, name: str, kind: str
) -> None:
    process.behave(name, DENY)
    await configure(client, kind, process.hook(name, rule=EVERYTHING))

    with pytest.raises(ApiError, match="not today"):
        await created(client)
    await configurations(client, kind).patch("tests", {"metadata": {"labels": {"a": "b"}}})
    await configurations(client, kind).delete("tests")

    await created(client)


async def test_a_dry_run_is_announced_to_the_webhook_and_stores_nothing(
    client: Client, process: WebhookProcess, name: str
) -> None:
    process.behave(name, {"patch": LABEL})
    await configure(client, "Mutating", process.hook(name, sideEffects="NoneOnDryRun"))

    made = await client.core_v1.configmaps("default").create(config_map("a"), dry_run=True)

    assert made.labels == {"seen": "yes"}
    assert process.requests(name)[0]["dryRun"] is True
    with pytest.raises(NotFound):
        await client.core_v1.configmaps("default").get("a")


async def test_namespaces_and_objects_are_selected_by_their_labels(
    client: Client, process: WebhookProcess, name: str
) -> None:
    for namespace, labels in (("watched", {"hooks": "on"}), ("quiet", {})):
        await client.core_v1.namespaces.create({"metadata": {"name": namespace, "labels": labels}})
    both = process.hook(
        name,
        namespaceSelector={"matchLabels": {"hooks": "on"}},
        objectSelector={"matchLabels": {"tier": "web"}},
    )
    await configure(client, "Validating", both)

    for namespace in ("watched", "quiet"):
        maps = client.core_v1.configmaps(namespace)
        await maps.create(config_map("selected", labels={"tier": "web"}))
        await maps.create(config_map("other"))
        await maps.patch("selected", {"metadata": {"labels": {"tier": "db"}}})

    asked = [(one["namespace"], one["operation"]) for one in process.requests(name)]
    assert asked == [("watched", "CREATE"), ("watched", "UPDATE")]


async def test_of_a_namespace_its_own_labels_count(
    client: Client, process: WebhookProcess, name: str
) -> None:
    rule = {**CONFIG_MAPS, "resources": ["namespaces"], "scope": "Cluster"}
    selector = {"matchLabels": {"hooks": "on"}}
    await configure(client, "Validating", process.hook(name, rule, namespaceSelector=selector))

    for one, labels in (("with", {"hooks": "on"}), ("without", {})):
        await client.core_v1.namespaces.create({"metadata": {"name": one, "labels": labels}})

    assert [(one["name"], one["namespace"]) for one in process.requests(name)] == [("with", "with")]


async def test_match_conditions_decide_and_their_errors_obey_the_failure_policy(
    client: Client, process: WebhookProcess, name: str
) -> None:
    condition = {"name": "big", "expression": "int(object.data.size) > 3"}
    strict = process.hook(name, matchConditions=[condition])
    lenient = process.hook(f"{name}-2", matchConditions=[condition], failurePolicy="Ignore")
    process.behave(name, DENY)
    await configure(client, "Validating", strict, lenient)
    maps = client.core_v1.configmaps("default")

    await maps.create({**config_map("small"), "data": {"size": "3"}})
    with pytest.raises(ApiError, match="not today"):
        await maps.create({**config_map("big"), "data": {"size": "4"}})
    with pytest.raises(Forbidden) as refused:
        await created(client, "sizeless")

    assert refused.value.message == (
        "configmaps \"sizeless\" is forbidden: expression 'int(object.data.size) > 3' resulted in "
        "error: no such key: size"
    )
    assert [one["name"] for one in process.requests(f"{name}-2")] == ["big"]


async def test_a_condition_may_ask_what_the_user_is_allowed(
    client: Client, process: WebhookProcess, name: str
) -> None:
    process.behave(name, DENY)
    may = "authorizer.requestResource.check('delete').allowed()"
    may += " && !authorizer.serviceAccount('default', 'nobody').group('').resource('pods')"
    may += ".namespace('default').check('get').errored()"
    hook = process.hook(name, matchConditions=[{"name": "may", "expression": may}])
    await configure(client, "Validating", hook)

    with pytest.raises(ApiError, match="not today"):
        await created(client)


async def test_a_change_calls_those_again_that_want_to_see_it(
    client: Client, process: WebhookProcess, name: str
) -> None:
    first, second, never = name, f"{name}-2", f"{name}-3"
    process.behave(second, {"patch": LABEL})
    await configure(
        client,
        "Mutating",
        process.hook(never),
        process.hook(first, reinvocationPolicy="IfNeeded"),
        process.hook(second, reinvocationPolicy="IfNeeded"),
    )

    await created(client)

    seen = [one["object"]["metadata"].get("labels") for one in process.requests(first)]
    assert seen == [None, {"seen": "yes"}]
    assert (len(process.requests(second)), len(process.requests(never))) == (1, 1)


async def test_the_result_of_a_patch_is_defaulted_and_validated(
    client: Client, process: WebhookProcess, name: str
) -> None:
    port = {"op": "add", "path": "/spec/ports/-", "value": {"port": 81, "name": "more"}}
    process.behave(name, {"patch": [port]})
    rule = {**CONFIG_MAPS, "resources": ["services"], "operations": ["CREATE"]}
    await configure(client, "Mutating", process.hook(name, rule))
    services = client.core_v1.services("default")
    body = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80, "name": "web"}]}}

    made = (await services.create(body)).to_dict()
    process.behave(name, {"patch": [{**port, "value": {"port": 0, "name": "more"}}]})
    with pytest.raises(ApiError, match=r"spec.ports\[1\].port: Invalid value: 0"):
        await services.create({**body, "metadata": {"name": "b"}})

    assert made["spec"]["ports"][1] == {
        "name": "more", "port": 81, "protocol": "TCP", "targetPort": 81,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ([{"op": "remove", "path": "/data/none"}],
         "error in remove for path: '/data/none': Unable to remove nonexistent key: none: missing"),
        ([{"op": "add", "path": "/x/y", "value": 1}],
         'add operation does not apply: doc is missing path: "/x/y": missing value'),
        ([{"op": "test", "path": "/data/key", "value": "x"}], "testing value /data/key failed"),
        ([{"op": "replace", "path": "/data", "value": "text"}], "cannot unmarshal string into Go"),
    ],
)  # fmt: skip
async def test_a_patch_that_cannot_be_applied_refuses_the_request(
    client: Client, process: WebhookProcess, name: str, patch: list[Any], why: str
) -> None:
    process.behave(name, {"patch": patch})
    await configure(client, "Mutating", process.hook(name, failurePolicy="Ignore"))

    with pytest.raises(ApiError) as refused:
        await created(client)

    assert refused.value.status["reason"] == "InternalError"
    assert why in refused.value.message


async def test_nothing_can_be_changed_of_what_is_deleted(
    client: Client, process: WebhookProcess, name: str
) -> None:
    await created(client)
    process.behave(name, {"patch": LABEL})
    await configure(client, "Mutating", process.hook(name))

    with pytest.raises(ApiError) as refused:
        await client.core_v1.configmaps("default").delete("a")

    assert refused.value.message == (
        f'Internal error occurred: admission webhook "{name}.example.com" attempted to modify the '
        "object, which is not supported for this operation"
    )


async def test_subresources_are_asked_about_only_by_their_names(
    client: Client, process: WebhookProcess, name: str
) -> None:
    rule = {
        "operations": ["UPDATE"],
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "resources": ["deployments/scale", "deployments/status"],
    }
    template = {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    process.behave(name, {"patch": [{"op": "replace", "path": "/spec/replicas", "value": 5}]})
    await configure(client, "Mutating", process.hook(name, rule))
    deployments = client.apps_v1.deployments("default")
    await deployments.create({"metadata": {"name": "a"}, "spec": spec})

    await deployments.set_scale("a", 2)

    assert (await deployments.get("a")).to_dict()["spec"]["replicas"] == 5
    (asked,) = process.requests(name)
    assert (asked["subResource"], asked["kind"]["kind"]) == ("scale", "Scale")
    assert asked["object"]["spec"] == {"replicas": 2}
    assert asked["oldObject"]["spec"] == {"replicas": 1}


async def test_owners_that_a_webhook_left_in_disorder_are_those_from_before(
    client: Client, process: WebhookProcess, name: str
) -> None:
    odd = {"manager": "m", "operation": "Update", "fieldsType": "FieldsV1",
           "apiVersion": "v1", "fieldsV1": {"x:odd": {}}}  # fmt: skip
    process.behave(
        name, {"patch": [*LABEL, {"op": "add", "path": "/metadata/managedFields", "value": [odd]}]}
    )
    await configure(client, "Mutating", process.hook(name))

    made = (await created(client)).to_dict()["metadata"]

    assert made["labels"] == {"seen": "yes"}
    (entry,) = made["managedFields"]
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:key": {}}}


async def test_a_webhook_may_ask_for_the_older_review(
    client: Client, process: WebhookProcess, name: str
) -> None:
    process.behave(name, {"patch": LABEL, "response": {"uid": "whatever", "patchType": None}})
    await configure(client, "Mutating", process.hook(name, admissionReviewVersions=["v1beta1"]))

    made = await created(client)

    assert made.labels == {"seen": "yes"}
    assert process.calls(name)[0]["apiVersion"] == "admission.k8s.io/v1beta1"


async def test_a_name_that_is_still_to_be_generated_is_not_known_to_webhooks(
    client: Client, process: WebhookProcess, name: str
) -> None:
    for kind, hook in (("Mutating", name), ("Validating", f"{name}-2")):
        await configure(client, kind, process.hook(hook))

    body = {"metadata": {"generateName": "web-"}}
    made = await client.core_v1.configmaps("default").create(body)

    assert "name" not in process.requests(name)[0]
    seen = process.requests(f"{name}-2")[0]["object"]["metadata"]
    assert (seen["name"], seen["uid"]) == (made.name, made.uid)
