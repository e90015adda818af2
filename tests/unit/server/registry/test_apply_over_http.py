"""Applied and patched objects over the whole pipeline: keys of lists, versions, finalizers."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.wire import json
from tests.unit.server.registry.server_under_test import MERGE, Asking

APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def config_map(metadata: dict[str, Any] | None = None, **rest: Any) -> dict[str, Any]:
    named = {"name": "a", **(metadata or {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, **rest}


def pod(*containers: Any) -> dict[str, Any]:
    spec = {"containers": list(containers)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}


async def apply(ask: Asking, plural: str, body: Any, manager: str = "one") -> Any:
    return await ask("PATCH", f"{plural}/a?fieldManager={manager}", body, kind=APPLY)


def causes(answer: Any) -> list[tuple[str, str]]:
    return [(cause["field"], cause["reason"]) for cause in answer.body["details"]["causes"]]


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize(
    ("container", "cause"),
    [
        ({"image": "x"}, ("spec.containers[0].name", "FieldValueRequired")),
        (
            {"name": "c", "image": "x", "ports": [{"name": "p"}]},
            ("spec.containers[0].ports[0].containerPort", "FieldValueRequired"),
        ),
        (
            {"name": "c", "image": "x", "env": [{"value": "v"}]},
            ("spec.containers[0].env[0].name", "FieldValueRequired"),
        ),
        (
            {"name": "c", "image": "x", "volumeMounts": [{"name": "v"}]},
            ("spec.containers[0].volumeMounts[0].mountPath", "FieldValueRequired"),
        ),
    ],
)
async def test_an_applied_list_element_without_its_key_is_invalid_and_no_internal_error(
    ask: Asking, is_new: bool, container: Any, cause: tuple[str, str]
) -> None:
    if not is_new:
        assert (await apply(ask, "pods", pod({"name": "c", "image": "x"}))).status == 201

    refused = await apply(ask, "pods", pod(container))

    assert refused.status == 422
    assert cause in causes(refused)


async def test_two_applied_elements_without_a_key_are_the_same_element(ask: Asking) -> None:
    refused = await apply(ask, "pods", pod({"image": "x"}, {"image": "y"}))

    assert refused.status == 500
    assert 'duplicate entries for key [name=""]' in refused.body["message"]


@pytest.mark.parametrize("given_up", ["finalizers", "labels", "annotations"])
async def test_giving_up_the_last_applied_field_of_metadata_keeps_the_rest(
    ask: Asking, given_up: str
) -> None:
    values: Any = ["example.com/a"] if given_up == "finalizers" else {"a": "b"}
    made = await apply(ask, "configmaps", config_map({given_up: values}))

    after = await apply(ask, "configmaps", config_map())

    assert after.status == 200
    assert given_up not in after.body["metadata"]
    assert after.body["metadata"]["uid"] == made.body["metadata"]["uid"]


async def test_applying_without_the_last_finalizer_ends_an_object_that_is_being_deleted(
    ask: Asking,
) -> None:
    await apply(ask, "configmaps", config_map({"finalizers": ["example.com/a"]}))
    await ask("DELETE", "configmaps/a")

    answered = await apply(ask, "configmaps", config_map())

    assert answered.status == 200
    assert (await ask("GET", "configmaps/a")).status == 404


@pytest.mark.parametrize(
    ("media", "patch", "status"),
    [
        (JSON_PATCH, [{"op": "remove", "path": "/kind"}], 200),
        (MERGE, {"kind": None}, 200),
        (JSON_PATCH, [{"op": "remove", "path": "/apiVersion"}], 400),
        (MERGE, {"apiVersion": None}, 400),
        (MERGE, {"apiVersion": "", "kind": None}, 400),
        (JSON_PATCH, [{"op": "replace", "path": "/kind", "value": "Secret"}], 422),
        (MERGE, {"kind": "Secret"}, 422),
        (MERGE, {"kind": "Nothing"}, 422),
        (MERGE, {"kind": 5}, 422),
        (MERGE, {"apiVersion": "v2"}, 422),
        (MERGE, {"apiVersion": "a/b/c"}, 422),
        (STRATEGIC, {"apiVersion": None}, 200),
        (STRATEGIC, {"kind": "Secret"}, 200),
    ],
)
async def test_what_a_patch_may_say_of_kind_and_version(
    ask: Asking, media: str, patch: Any, status: int
) -> None:
    await ask("POST", "configmaps", config_map(data={"x": "1"}))

    answered = await ask("PATCH", "configmaps/a", patch, kind=media)

    assert answered.status == status
    if status == 200:
        assert (answered.body["apiVersion"], answered.body["kind"]) == ("v1", "ConfigMap")
    if status == 400:
        assert "was undeterminable: name must be provided" in answered.body["message"]


async def client_side_applied(ask: Asking, annotation: Any, data: dict[str, str]) -> None:
    text = json.encode(annotation).decode()
    body = config_map({"annotations": {LAST_APPLIED: text}}, data=data)
    made = await ask("POST", "configmaps?fieldManager=kubectl-client-side-apply", body)
    assert made.status == 201


@pytest.mark.parametrize(
    "annotation",
    [
        {**config_map(data={"x": "1"}), "apiVersion": "v2"},
        {**config_map(data={"x": "1"}), "unknown": True},
        ["x"],
    ],
)
async def test_an_annotation_of_another_type_takes_nothing_over(
    ask: Asking, annotation: Any
) -> None:
    await client_side_applied(ask, annotation, {"x": "1"})

    refused = await apply(ask, "configmaps", config_map(data={"x": "2"}), "kubectl")

    assert refused.status == 409


async def test_the_annotation_of_client_side_apply_follows_as_go_writes_it(ask: Asking) -> None:
    await client_side_applied(ask, config_map(data={"x": "1"}), {"x": "1"})

    after = await apply(ask, "configmaps", config_map(data={"x": "<a&b>"}), "kubectl")

    assert after.body["metadata"]["annotations"][LAST_APPLIED] == (
        '{"apiVersion":"v1","data":{"x":"\\u003ca\\u0026b\\u003e"},"kind":"ConfigMap",'
        '"metadata":{"name":"a"}}\n'
    )


async def test_an_applied_value_that_its_type_cannot_hold_is_an_error_without_reason(
    ask: Asking,
) -> None:
    limits = {"limits": {"cpu": "x"}}
    answer = await apply(ask, "pods", pod({"name": "c", "image": "x", "resources": limits}))

    assert answer.status == 500
    assert answer.body["message"].startswith(
        "failed to convert new object (/a; /v1, Kind=Pod) to proper version: unable to convert "
        "unstructured object to /v1, Kind=Pod: quantities must match"
    )
    assert "reason" not in answer.body


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"data": {"x": 5}}, '"map[data:map[x:5]]": cannot convert int64 to string'),
        ({"kind": 5}, '"map[kind:5]": cannot convert int64 to string'),
        ({"apiVersion": 5}, '"map[apiVersion:5]": cannot convert int64 to string'),
        ({"kind": []}, '"map[kind:[]]": unrecognized type: string'),
        ({"apiVersion": {"a": 1}}, '"map[apiVersion:map[a:1]]": unrecognized type: string'),
        ({"kind": True}, '"map[kind:true]": unrecognized type: string'),
    ],
)
async def test_a_strategic_patch_with_a_value_of_another_type_says_what_it_cannot_copy(
    ask: Asking, patch: dict[str, Any], message: str
) -> None:
    await ask("POST", "configmaps", config_map())

    answer = await ask("PATCH", "configmaps/a", patch, kind=STRATEGIC)

    assert answer.status == 422
    assert answer.body["details"]["causes"] == [
        {"reason": "FieldValueInvalid", "message": f"Invalid value: {message}", "field": "patch"}
    ]


@pytest.mark.parametrize(
    "odd",
    [
        {"operation": "Else"},
        {"apiVersion": ""},
        {"fieldsType": "FieldsV2"},
        {"fieldsV1": {"x:y": {}}},
    ],
)
async def test_owners_that_no_server_wrote_are_not_taken_over(
    ask: Asking, odd: dict[str, Any]
) -> None:
    made = await ask("POST", "configmaps?fieldManager=one", config_map(data={"x": "1"}))
    entry = {"manager": "two", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    entries = [{**entry, "fieldsV1": {"f:data": {}}, **odd}]

    body = config_map({"managedFields": entries}, data={"x": "1"})
    put = await ask("PUT", "configmaps/a?fieldManager=one", body)

    assert put.body["metadata"]["managedFields"] == made.body["metadata"]["managedFields"]


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize(
    ("metadata", "fault"),
    [
        ("x", ".metadata: expected map, got &{x}"),
        ([], ".metadata: expected map, got &{[]}"),
        ({"name": 5}, ".metadata.name: expected string"),
    ],
)
async def test_applied_metadata_of_the_wrong_type_is_named_as_any_other_field(
    ask: Asking, is_new: bool, metadata: Any, fault: str
) -> None:
    if not is_new:
        assert (await ask("POST", "configmaps", config_map())).status == 201

    answer = await apply(ask, "configmaps", config_map() | {"metadata": metadata})

    assert answer.status == 500
    named = f"failed to create typed patch object (/; /v1, Kind=ConfigMap): {fault}"
    assert answer.body["message"].startswith(named)


@pytest.mark.parametrize("version", ["v2", "apps/v1", "a/b/c"])
@pytest.mark.parametrize("operation", ["Apply", "Update"])
async def test_owners_in_a_version_that_the_kind_does_not_have_are_forgotten(
    ask: Asking, version: str, operation: str
) -> None:
    await ask("POST", "configmaps?fieldManager=one", config_map(data={"x": "1"}))
    fields = {"fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:q": {}}}}
    other = {"manager": "m", "operation": operation, "apiVersion": version, **fields}

    changed = config_map({"managedFields": [other]}, data={"x": "2"})
    answer = await ask("PUT", "configmaps/a?fieldManager=one", changed)

    owners = [entry["manager"] for entry in answer.body["metadata"]["managedFields"]]
    assert owners == ["one"]


async def test_a_resource_version_that_is_no_number_is_refused_where_nothing_is_yet(
    ask: Asking,
) -> None:
    odd = await apply(ask, "configmaps", config_map({"resourceVersion": "abc"}))
    old = await apply(ask, "configmaps", config_map({"resourceVersion": "1"}))

    assert (odd.status, odd.body["message"]) == (
        500, 'strconv.ParseUint: parsing "abc": invalid syntax',
    )  # fmt: skip
    assert old.status == 201
