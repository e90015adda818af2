"""The kind and version an object of a custom kind declares, and how others are refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from proreus.api.wire import json
from tests.custom.definitions import INTEGER, TEXT, definition, version, widget
from tests.unit.server.registry.server_under_test import MERGE, Asking, asking

JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
ABSENT = object()
MISMATCH = (
    "the API version in the data ({}) does not match the expected API version (example.com/v1)"
)
NO_VERSION = (
    "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'"
)
PARSE = "couldn't get version/kind; json parse error: json: cannot unmarshal"
UNRECOGNIZED = "the object provided is unrecognized (must be of type Widget): "
NULL = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"


BOTH_WRONG = (
    'Deployment.apps "a" is invalid: [kind: Invalid value: "Deployment": must be Widget, '
    'apiVersion: Invalid value: "apps/v1": must be example.com/v1]'
)
# One server for all: what it refuses changes nothing.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ask() -> AsyncIterator[Asking]:
    fields: dict[str, Any] = {"spec": {"size": INTEGER}, "status": {"phase": TEXT}}
    body = definition(
        version("v1", **fields, subresources={"status": {}}),
        version("v2", storage=False, spec={"size": INTEGER, "more": TEXT}),
        version("v3", storage=False, spec={}) | {"served": False},
    )
    async with asking() as ready:
        assert (await ready("POST", DEFINITIONS, body)).status == 201
        async with asyncio.timeout(60):
            while (await ready("GET", WIDGETS)).status != 200:  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(0)
        made = await ready("POST", WIDGETS, widget("a", spec={"size": 1}))
        assert made.status == 201
        yield ready


def declaring(name: str, **types: Any) -> dict[str, Any]:
    body = widget(name, spec={"size": 2}) | types
    return {key: value for key, value in body.items() if value is not ABSENT}


def no_text(field: str, found: str) -> str:
    return f"{PARSE} {found} into Go struct field .{field} of type string"


def wrong_kind(kind: str) -> str:
    return f'{kind}.example.com "a" is invalid: kind: Invalid value: "{kind}": must be Widget'


def wrong_version(kind: str, given: str) -> str:
    cause = f'apiVersion: Invalid value: "{given}": must be example.com/v1'
    return f'{kind} "a" is invalid: {cause}'


REFUSED: list[tuple[dict[str, Any], int, str]] = [
    ({"kind": "Other"}, 422, wrong_kind("Other")),
    ({"kind": "widget"}, 422, wrong_kind("widget")),
    ({"kind": "WidgetList"}, 422, wrong_kind("WidgetList")),
    ({"kind": 5}, 400, UNRECOGNIZED + no_text("kind", "number")),
    ({"kind": ["Widget"]}, 400, UNRECOGNIZED + no_text("kind", "array")),
    ({"apiVersion": True}, 400, UNRECOGNIZED + no_text("apiVersion", "bool")),
    ({"apiVersion": "a/b/c"}, 400, f"{UNRECOGNIZED}unexpected GroupVersion string: a/b/c ("),
    ({"apiVersion": None}, 400, f'Widget in version "" cannot be handled as a Widget: {NULL}'),
    ({"apiVersion": ABSENT}, 400, MISMATCH.format("")),
    ({"apiVersion": ""}, 400, MISMATCH.format("")),
    ({"apiVersion": "/"}, 400, MISMATCH.format("")),
    ({"apiVersion": "v1"}, 400, MISMATCH.format("v1")),
    ({"apiVersion": "example.com/"}, 400, MISMATCH.format("example.com/")),
    ({"apiVersion": "example.com/v2"}, 400, MISMATCH.format("example.com/v2")),
    ({"apiVersion": "example.com/v3"}, 400, MISMATCH.format("example.com/v3")),
    ({"apiVersion": "example.com/v9"}, 400, MISMATCH.format("example.com/v9")),
    ({"apiVersion": "Example.com/v1"}, 400, MISMATCH.format("Example.com/v1")),
    ({"apiVersion": "apps/v1", "kind": "Deployment"}, 400, MISMATCH.format("apps/v1")),
    ({"apiVersion": "v1", "kind": "List", "items": []}, 400, MISMATCH.format("v1")),
]  # fmt: skip


@pytest.mark.parametrize("types,code,message", REFUSED)
async def test_a_create_and_an_update_refuse_an_object_of_another_type(
    ask: Asking, types: dict[str, Any], code: int, message: str
) -> None:
    live = (await ask("GET", f"{WIDGETS}/a")).body

    created = await ask("POST", WIDGETS, declaring("a", **types))
    wanted = {**declaring("a", **types), "metadata": live["metadata"]}
    updated = await ask("PUT", f"{WIDGETS}/a", wanted)

    assert (created.status, updated.status) == (code, code)
    assert created.body["message"].startswith(message)
    assert updated.body["message"].startswith(message)
    assert (await ask("GET", f"{WIDGETS}/a")).body == live


@pytest.mark.parametrize("kind", [ABSENT, None, ""])
@pytest.mark.parametrize("validation", ["", "Warn", "Strict"])
async def test_an_object_without_a_kind_is_quoted_as_it_was_sent(
    ask: Asking, kind: Any, validation: str
) -> None:
    sent = json.encode(declaring("b", kind=kind)) + b"\n"

    answer = await ask("POST", f"{WIDGETS}?fieldValidation={validation}", sent)

    assert answer.status == 400
    assert answer.body["message"] == (
        "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in "
        f"'{sent.decode()}' ({sent[:30].decode()} ...)"
    )


async def test_a_decoder_that_ignores_unknown_fields_names_the_kind_of_the_path(
    ask: Asking,
) -> None:
    sent = json.encode(declaring("b", kind=ABSENT))

    answer = await ask("POST", f"{WIDGETS}?fieldValidation=Ignore", sent + b"\n")

    assert answer.status == 400
    assert answer.body["message"] == (
        'Widget in version "v1" cannot be handled as a Widget: '
        f"Object 'Kind' is missing in '{sent.decode()}'"
    )


async def test_another_kind_is_noticed_only_after_what_else_an_update_checks(ask: Asking) -> None:
    live = (await ask("GET", f"{WIDGETS}/a")).body
    stale = {**live["metadata"], "resourceVersion": "1"}
    other = declaring("a", kind="Other")

    missing = await ask("PUT", f"{WIDGETS}/b", declaring("b", kind="Other"))
    conflict = await ask("PUT", f"{WIDGETS}/a", {**other, "metadata": stale})
    elsewhere = {"name": "c", "namespace": "other"}
    misplaced = await ask("POST", WIDGETS, {**other, "metadata": elsewhere})
    unnamed = await ask("POST", WIDGETS, {**other, "metadata": {}})

    assert [missing.status, conflict.status, misplaced.status] == [404, 409, 400]
    assert unnamed.body["message"] == (
        'Other.example.com "" is invalid: kind: Invalid value: "Other": must be Widget'
    )


PATCHED: list[tuple[dict[str, Any], int, str]] = [
    ({"kind": ABSENT}, 422, "Object 'Kind' is missing in '{"),
    ({"kind": ""}, 422, "Object 'Kind' is missing in '{"),
    ({"kind": 5}, 422, no_text("kind", "number")),
    ({"kind": "Other"}, 422, wrong_kind("Other")),
    ({"kind": "widget"}, 422, wrong_kind("widget")),
    ({"apiVersion": ABSENT}, 500, NO_VERSION),
    ({"apiVersion": ""}, 500, NO_VERSION),
    ({"apiVersion": "example.com/"}, 500, NO_VERSION),
    ({"apiVersion": "a/b/c"}, 422, "unexpected GroupVersion string: a/b/c"),
    ({"apiVersion": "example.com/v2"}, 422, wrong_version("Widget.example.com", "example.com/v2")),
    ({"apiVersion": "example.com/v9"}, 422, wrong_version("Widget.example.com", "example.com/v9")),
    ({"apiVersion": "v1"}, 422, wrong_version("Widget", "v1")),
    ({"apiVersion": "apps/v1", "kind": "Deployment"}, 422, BOTH_WRONG),
]  # fmt: skip


@pytest.mark.parametrize("types,code,message", PATCHED)
async def test_a_patch_cannot_make_an_object_another_type(
    ask: Asking, types: dict[str, Any], code: int, message: str
) -> None:
    live = (await ask("GET", f"{WIDGETS}/a")).body
    merged = {key: None if value is ABSENT else value for key, value in types.items()}
    operations = [
        {"op": "remove", "path": f"/{key}"}
        if value is ABSENT
        else {"op": "replace", "path": f"/{key}", "value": value}
        for key, value in types.items()
    ]

    by_merge = await ask("PATCH", f"{WIDGETS}/a", merged, kind=MERGE)
    by_operations = await ask("PATCH", f"{WIDGETS}/a", operations, kind=JSON_PATCH)

    for answer in (by_merge, by_operations):
        assert answer.status == code
        assert message in answer.body["message"]
    assert (await ask("GET", f"{WIDGETS}/a")).body == live


async def test_an_operation_that_sets_the_version_to_null_cannot_be_decoded(ask: Asking) -> None:
    operations = [{"op": "replace", "path": "/apiVersion", "value": None}]

    answer = await ask("PATCH", f"{WIDGETS}/a", operations, kind=JSON_PATCH)

    assert answer.status == 422
    assert answer.body["details"]["causes"][0]["field"] == "patch"
    assert answer.body["message"].endswith(NULL)


async def test_an_update_of_the_status_takes_only_the_status_of_an_object_of_another_kind(
    ask: Asking,
) -> None:
    live = (await ask("GET", f"{WIDGETS}/a")).body
    body = {**live, "kind": "Other", "status": {"phase": "up"}}

    put = await ask("PUT", f"{WIDGETS}/a/status", body)
    patched = await ask(
        "PATCH", f"{WIDGETS}/a/status", {"kind": "Other", "status": {"phase": "on"}}, kind=MERGE
    )

    assert (put.status, put.body["kind"], put.body["status"]) == (200, "Widget", {"phase": "up"})
    assert (patched.status, patched.body["kind"]) == (200, "Widget")
    assert patched.body["status"] == {"phase": "on"}


@pytest.mark.parametrize(
    "types,found",
    [
        ({"kind": "Other"}, "example.com/v1, Kind=Other"),
        ({"kind": ABSENT}, "example.com/v1, Kind="),
        ({"kind": 5}, "example.com/v1, Kind="),
        ({"apiVersion": ABSENT}, "/, Kind=Widget"),
        ({"apiVersion": "example.com/v2"}, "example.com/v2, Kind=Widget"),
        ({"apiVersion": "a/b/c"}, "/, Kind="),
    ],
)
async def test_apply_refuses_another_type_before_anything_else(
    ask: Asking, types: dict[str, Any], found: str
) -> None:
    body = declaring("a", **types)

    answer = await ask("PATCH", f"{WIDGETS}/a?fieldManager=me", body, kind=APPLY)

    assert (answer.status, answer.body["message"]) == (400, f"invalid object type: {found}")
