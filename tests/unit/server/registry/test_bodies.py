"""Bodies are read alike whatever was read before, and however long they are."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.wire import json, yaml
from tests.unit.server.registry.server_under_test import Asking

YAML = "application/yaml"


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    env = [{"name": f"A_{number}", "value": "x" * 20} for number in range(12)]
    limits = {"cpu": "1000m", "memory": "1Gi"}
    container = {"name": "a", "image": "b", "env": env, "resources": {"limits": limits}}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [container], "nodeName": ""},
    }


def lasting(body: Any) -> Any:
    """What does not differ from pod to pod."""
    meta = {k: body["metadata"][k] for k in ("labels", "managedFields") if k in body["metadata"]}
    for entry in meta.get("managedFields", ()):
        entry.pop("time")
    return {**body, "metadata": meta}


async def test_pods_of_one_template_are_all_made_alike(ask: Asking) -> None:
    made = [await ask("POST", "pods", pod(f"p-{number}", labels={"a": "b"})) for number in range(6)]

    assert {answer.status for answer in made} == {201}
    first, *others = [lasting(answer.body) for answer in made]
    assert all(json.encode(other) == json.encode(first) for other in others)
    assert first["spec"]["containers"][0]["resources"]["limits"]["cpu"] == "1"


async def test_pods_of_one_template_do_not_share_what_may_change(ask: Asking) -> None:
    for number in range(4):
        await ask("POST", "pods", pod(f"p-{number}"))
    changed = (await ask("GET", "pods/p-3")).body
    changed["spec"]["containers"][0]["image"] = "c"

    assert (await ask("PUT", "pods/p-3", changed)).status == 200

    again = (await ask("POST", "pods", pod("p-4"))).body
    assert again["spec"]["containers"][0]["image"] == "b"


async def test_a_known_template_does_not_hide_faults_beside_it(ask: Asking) -> None:
    for number in range(4):
        await ask("POST", "pods", pod(f"p-{number}"))

    warned = await ask("POST", "pods", pod("p-5", colour="red"))
    refused = await ask("POST", "pods?fieldValidation=Strict", pod("p-6", colour="red"))
    mistyped = await ask("POST", "pods", pod("p-7", labels=["a"]))

    assert warned.headers["Warning"] == '299 - "unknown field \\"metadata.colour\\""'
    assert (refused.status, mistyped.status) == (400, 400)
    assert "cannot unmarshal array" in mistyped.body["message"]


def long_config_map(name: str) -> bytes:
    return yaml.encode(
        {"metadata": {"name": name}, "data": {f"k{n}": "x" * 50 for n in range(900)}}
    )


async def test_a_long_yaml_body_is_read_like_a_short_one(ask: Asking) -> None:
    made = await ask("POST", "configmaps", long_config_map("a"), kind=YAML)
    doubled = await ask("POST", "configmaps", long_config_map("b") + b"data: {}\n", kind=YAML)
    broken = await ask("POST", "configmaps", long_config_map("c") + b"{", kind=YAML)

    assert (made.status, len(made.body["data"])) == (201, 900)
    assert 'key \\"data\\" already set in map' in doubled.headers["Warning"]
    assert broken.status == 400
    assert broken.body["message"].startswith("the object provided is unrecognized")


async def test_a_long_body_can_be_applied(ask: Asking) -> None:
    body = b"kind: ConfigMap\napiVersion: v1\n" + long_config_map("a")
    path = "configmaps/a?fieldManager=me"

    made = await ask("PATCH", path, body, kind="application/apply-patch+yaml")
    broken = await ask("PATCH", path, body + b"{", kind="application/apply-patch+yaml")

    assert (made.status, len(made.body["data"])) == (201, 900)
    assert (broken.status, broken.body["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("kind", "version", "why"),
    [
        ("ListOptions", "v1", "converting (v1.ListOptions) to (core.ConfigMap)"),
        ("PatchOptions", "apps/v1", "converting (v1.PatchOptions) to (core.ConfigMap)"),
        ("APIResourceList", "v1", "converting (v1.APIResourceList) to (core.ConfigMap)"),
        ("ListOptions", "no.such/v1", 'no kind "ListOptions" is registered'),
    ],
)
async def test_options_are_kinds_too_but_not_the_one_wanted(
    ask: Asking, kind: str, version: str, why: str
) -> None:
    answer = await ask("POST", "configmaps", {"kind": kind, "apiVersion": version})

    assert answer.status == 400
    assert f"cannot be handled as a ConfigMap: {why}" in answer.body["message"]


@pytest.mark.parametrize("version", ["v1beta1", "v2alpha1"])
async def test_a_version_that_was_once_served_differs_from_one_that_never_was(
    ask: Asking, version: str
) -> None:
    body = {"kind": "CronJob", "apiVersion": f"batch/{version}", "metadata": {"name": "a"}}

    answer = await ask("POST", "/apis/batch/v1/namespaces/default/cronjobs", body)

    is_past = version == "v1beta1"
    assert (
        "does not match the expected API version (batch/v1)" in answer.body["message"]
    ) is is_past


async def test_the_list_of_a_version_once_served_is_known_as_another_kind(ask: Asking) -> None:
    body = {"kind": "CronJobList", "apiVersion": "batch/v1beta1"}

    answer = await ask("POST", "/apis/batch/v1/namespaces/default/cronjobs", body)

    why = "converting (v1beta1.CronJobList) to (batch.CronJob): unknown conversion"
    assert answer.body["message"].endswith(why)


async def test_an_eviction_may_be_of_the_version_before(ask: Asking) -> None:
    await ask("POST", "pods", pod("a"))
    body = {"kind": "Eviction", "apiVersion": "policy/v1beta1", "metadata": {"name": "a"}}

    evicted = await ask("POST", "pods/a/eviction", body)

    assert (evicted.status, (await ask("GET", "pods/a")).status) == (201, 404)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"KIND":"Nope"}', "Nope"),
        (b'{"kind":"ConfigMap","Kind":"Nope"}', "Nope"),
        (b'{"Kind":"Nope","KIND":null}', "Nope"),
    ],
)
async def test_a_kind_counts_in_whatever_case_its_key_is(
    ask: Asking, body: bytes, kind: str
) -> None:
    made = await ask("POST", "configmaps", body)
    deleted = await ask("DELETE", "configmaps/a", body)

    assert made.body["message"].startswith(f'{kind} in version "v1" cannot be handled')
    assert deleted.body["message"].startswith(f'no kind "{kind}" is registered for version')


async def test_what_is_wrong_with_delete_options_is_said_without_their_kind(ask: Asking) -> None:
    wrong = await ask("DELETE", "configmaps/a", {"gracePeriodSeconds": "x"})
    other = await ask("DELETE", "configmaps/a", {"kind": "ConfigMap"})

    assert (wrong.status, other.status) == (400, 400)
    assert wrong.body["message"] == (
        "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds "
        "of type int64"
    )
    assert 'no kind "ConfigMap" is registered for version "meta.k8s.io/v1"' in other.body["message"]


async def test_an_empty_namespace_in_a_path_is_none(ask: Asking) -> None:
    made = await ask("POST", "/api/v1/namespaces//configmaps", {"metadata": {"name": "a"}})

    assert made.status == 422
    assert made.body["message"] == 'ConfigMap "a" is invalid: metadata.namespace: Required value'


async def test_what_is_wrong_with_yaml_is_said_in_the_order_of_its_keys(ask: Asking) -> None:
    wrong = b"metadata: {name: 1}\nimmutable: x\n"
    unknown = b"w: 1\nmetadata: {name: a, z: 1, b: 2}\na: 1\n"

    refused = await ask("POST", "configmaps", wrong, kind=YAML)
    strict = await ask("POST", "configmaps?fieldValidation=Strict", unknown, kind=YAML)

    assert refused.body["message"].endswith("Go struct field ConfigMap.immutable of type bool")
    assert strict.body["message"].endswith(
        'strict decoding error: unknown field "a", unknown field "metadata.b", '
        'unknown field "metadata.z", unknown field "w"'
    )


async def test_of_kind_and_version_the_one_that_is_read_first_is_refused(ask: Asking) -> None:
    refused = await ask("POST", "configmaps", b'{"apiVersion":1,"kind":[]}')

    assert "cannot unmarshal number into Go struct field .apiVersion" in refused.body["message"]
