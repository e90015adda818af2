"""What a read answers where Kubernetes has an order of its own (server.md §2.2, §8.1, §12)."""

from __future__ import annotations

import asyncio

import pytest

from tests.custom.asking import until
from tests.custom.definitions import definition, version
from tests.robustness.wire import ask as over_the_wire
from tests.unit.server.registry.server_under_test import MERGE, Asking

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
LIST_OF_METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.mark.parametrize(
    ("path", "accept", "status"),
    [
        ("configmaps/none?includeObject=Sofa", TABLE, 404),
        ("configmaps/none", LIST_OF_METADATA, 404),
        ("configmaps?includeObject=Sofa", TABLE, 400),
        ("configmaps?includeObject=Sofa&resourceVersionMatch=x", TABLE, 422),
        ("configmaps?includeObject=Sofa&watch=1&resourceVersion=x", TABLE, 500),
        ("configmaps?watch=1&resourceVersion=x", "application/yaml", 500),
        ("configmaps?includeObject=Sofa&watch=1", TABLE, 400),
    ],
)
async def test_how_to_show_something_is_validated_when_there_is_something_to_show(
    ask: Asking, path: str, accept: str, status: int
) -> None:
    assert (await ask("GET", path, accept=accept)).status == status


async def test_a_write_is_made_though_its_answer_cannot_be_rendered(ask: Asking) -> None:
    made = await ask("POST", "pods?includeObject=Sofa", POD, accept=TABLE)
    read = await ask("GET", "pods/p")
    gone = await ask("DELETE", "pods?includeObject=Sofa", accept=TABLE)
    left = await ask("GET", "pods")

    assert (made.status, read.status, gone.status, left.body["items"]) == (400, 200, 400, [])


@pytest.mark.parametrize(
    ("accept", "kind"), [(TABLE, "Table"), (METADATA, "PartialObjectMetadata")]
)
async def test_what_is_deleted_is_rendered_as_asked(ask: Asking, accept: str, kind: str) -> None:
    await ask("POST", "pods", POD)

    gone = await ask("DELETE", "pods/p", accept=accept)

    assert (gone.status, gone.body["kind"]) == (200, kind)


@pytest.mark.parametrize(
    ("query", "names"),
    [("", ["etcd-0"]), ("fieldSelector=metadata.name%3Dx", []), ("labelSelector=a", [])],
)
async def test_component_statuses_are_selected_like_anything_else(
    ask: Asking, query: str, names: list[str]
) -> None:
    found = await ask("GET", f"/api/v1/componentstatuses?{query}")

    assert [item["metadata"]["name"] for item in found.body["items"]] == names


@pytest.mark.parametrize("accept", ["*/*", TABLE])
async def test_component_statuses_are_of_no_stored_state(ask: Asking, accept: str) -> None:
    listed = await ask("GET", "/api/v1/componentstatuses", accept=accept)
    one = await ask("GET", "/api/v1/componentstatuses/etcd-0", accept=accept)

    assert listed.body["metadata"] == {}
    assert "resourceVersion" not in one.body["metadata"]


async def test_a_dry_run_in_a_table_has_no_version(ask: Asking) -> None:
    made = await ask("POST", "pods?dryRun=All", POD, accept=TABLE)

    assert (made.status, made.body["kind"], made.body["metadata"]) == (201, "Table", {})


async def test_a_component_that_is_not_there_is_a_failure_without_a_reason(ask: Asking) -> None:
    found = await ask("GET", "/api/v1/componentstatuses/x")
    unknown = await ask("GET", "/api/v1/componentstatuses?fieldSelector=conditions%3Dx")

    assert (found.status, found.body["message"]) == (500, "Component not found: x")
    assert (unknown.status, "reason" in found.body) == (400, False)


@pytest.mark.parametrize(
    ("path", "accept", "status"),
    [
        ("/version/", "*/*", 200),
        ("/version/x", "*/*", 404),
        ("/version", "application/yaml", 406),
        ("/apis", AGGREGATED, 200),
        ("/apis/", AGGREGATED, 406),
        ("/apis//v1", "*/*", 404),
        ("/apis//v1/configmaps", "*/*", 404),
        ("/metrics/", "*/*", 404),
        ("/openapi/v2/", "*/*", 404),
        ("/openapi/v3/", "*/*", 404),
        ("/openapi/v3/apis/apps/v1/", "*/*", 404),
    ],
)
async def test_what_is_no_resource_is_found_only_by_its_name(
    ask: Asking, path: str, accept: str, status: int
) -> None:
    assert (await ask("GET", path, accept=accept)).status == status


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/apis", 200),
        ("/apis/apps", 200),
        ("/apis/apps/", 200),
        ("/apis/apiregistration.k8s.io", 405),
        ("/apis/apps/v1", 405),
        ("/.well-known/openid-configuration", 405),
        ("/openid/v1/jwks", 405),
    ],
)
async def test_some_pages_answer_every_method_and_some_only_get(
    ask: Asking, path: str, status: int
) -> None:
    assert (await ask("POST", path)).status == status
    assert (await ask("GET", path)).status == 200


async def test_the_versions_of_definitions_answer_every_method(ask: Asking) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await ask("POST", definitions, definition(version()))

    async def is_served() -> bool:
        await asyncio.sleep(0)  # the server's turn: this way of asking takes none
        return bool((await ask("GET", "/apis/example.com/v1")).status == 200)

    await until(is_served)

    assert (await ask("POST", "/apis/example.com/v1")).status == 200


async def test_discovery_of_all_groups_does_not_look_at_what_it_is_sent(ask: Asking) -> None:
    assert (await ask("GET", "/apis", b"x", kind="text/plain")).status == 200
    assert (await ask("GET", "/api", b"x", kind="text/plain")).status == 415
    assert (await ask("GET", "/version", b"x", kind="application/yaml")).status == 415


@pytest.mark.parametrize("path", ["/api/v1/watch?a=b", "/apis/apps/v1/proxy"])
async def test_a_verb_without_a_resource_is_a_failure(ask: Asking, path: str) -> None:
    answer = await ask("GET", path)

    assert answer.status == 500
    assert answer.body.decode() == (
        f'Internal Server Error: "{path}": failed to create RequestInfo: '
        f"unable to determine kind and namespace from url, {path}\n"
    )


async def test_a_watch_that_wants_lists_ends_at_its_first_event(ask: Asking) -> None:
    await ask("POST", "configmaps", {"metadata": {"name": "a"}})
    watch = "/api/v1/namespaces/default/configmaps?watch=1"

    async with asyncio.timeout(60):
        seen = await over_the_wire(ask.server, "GET", watch, headers=[("Accept", LIST_OF_METADATA)])

    assert (seen.code, seen.body) == (200, b"")


@pytest.mark.parametrize(
    ("accept", "kind", "start"),
    [
        ("application/json", "application/json", b'{"kind":'),
        (f"{TABLE},application/json", "application/json", b'{"kind":'),
        (TABLE, "application/json", b'{\n  "kind": '),
        ("application/yaml;as=Table;v=v1;g=meta.k8s.io", "application/json", b'{\n  "kind": '),
        ("application/yaml", "application/yaml", b"apiVersion: v1"),
    ],
)
async def test_a_failure_is_rendered_as_itself_in_a_type_that_was_asked_for(
    ask: Asking, accept: str, kind: str, start: bytes
) -> None:
    path = "/api/v1/namespaces/default/configmaps/none"

    answer = await over_the_wire(ask.server, "GET", path, headers=[("Accept", accept)])

    assert (answer.code, answer.headers["content-type"]) == (404, kind)
    assert answer.body.startswith(start)


async def test_discovery_passes_over_forms_it_does_not_have(ask: Asking) -> None:
    assert (await ask("GET", "/apis", accept=TABLE)).status == 406
    assert (await ask("GET", "/apis", accept=f"{TABLE},application/json")).status == 200


@pytest.mark.parametrize(("kind", "status"), [("text/plain", 415), (MERGE, 406)])
async def test_what_is_sent_is_checked_before_what_is_accepted(
    ask: Asking, kind: str, status: int
) -> None:
    answer = await ask("PATCH", "configmaps/a", b"{}", kind=kind, accept="text/html")

    assert answer.status == status
