"""What patches make wrong is said in the order in which a real server reads their results."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from tests.unit.server.registry.server_under_test import MERGE, Asking

JSON = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


@pytest_asyncio.fixture
async def ask(ask: Asking) -> Asking:
    await ask("POST", "configmaps", {"metadata": {"name": "a"}, "data": {"x": "1"}})
    return ask


@pytest.mark.parametrize("kind", [MERGE, STRATEGIC])
async def test_unknown_fields_are_named_in_the_order_of_their_names(ask: Asking, kind: str) -> None:
    patch = {"z": 1, "metadata": {"y": 1, "b": 1}, "a": 1}

    answer = await ask("PATCH", "configmaps/a?fieldValidation=Strict", patch, kind=kind)

    assert answer.status == 422
    names = answer.body["message"].split('unknown field "')[1:]
    assert [name.partition('"')[0] for name in names] == ["a", "metadata.b", "metadata.y", "z"]


async def test_of_several_wrong_values_the_first_by_name_is_refused(ask: Asking) -> None:
    answer = await ask("PATCH", "configmaps/a", {"immutable": 1, "data": 1}, kind=MERGE)

    assert answer.status == 422
    assert "Go struct field ConfigMap.data of type" in answer.body["message"]


async def test_values_of_operations_are_read_as_they_were_given(ask: Asking) -> None:
    patch = [
        {"op": "add", "path": "/zz", "value": 1},
        {"op": "add", "path": "/metadata/labels", "value": {"z": 1, "a": []}},
    ]

    answer = await ask("PATCH", "configmaps/a", patch, kind=JSON)

    assert answer.status == 422
    assert answer.body["message"].endswith(
        "cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"
    )


@pytest.mark.parametrize(
    "patch", [{"op": "add", "path": "/q"}, {"op": "add", "path": "/q", "value": None}]
)
async def test_a_null_is_no_less_unknown(ask: Asking, patch: dict[str, Any]) -> None:
    answer = await ask("PATCH", "configmaps/a?fieldValidation=Strict", [patch], kind=JSON)

    assert answer.status == 422
    assert answer.body["message"].endswith('strict decoding error: unknown field "q"')


async def test_an_error_quotes_what_is_left_of_a_strategic_patch(ask: Asking) -> None:
    patch = {"immutable": "x", "binaryData": {"a": None}, "data": {"x": None}}

    answer = await ask("PATCH", "configmaps/a", patch, kind=STRATEGIC)

    assert answer.status == 422
    assert answer.body["details"]["causes"][0]["message"].startswith(
        'Invalid value: "map[binaryData:map[] data:map[x:<nil>] immutable:x]": '
    )


@pytest.mark.parametrize("entries", [[], [{}]])
async def test_a_patch_can_make_the_server_forget_all_owners(ask: Asking, entries: Any) -> None:
    patch = {"metadata": {"managedFields": entries}}

    answer = await ask("PATCH", "configmaps/a", patch, kind=MERGE)

    assert answer.status == 200
    assert "managedFields" not in answer.body["metadata"]


@pytest.mark.parametrize(
    ("replicas", "copied"),
    [(2.0, 2), (2**32 + 3, 3), (3_000_000_000, -1_294_967_296), (1e30, 0)],
)
async def test_whole_numbers_of_strategic_patches_are_copied_by_their_low_bits(
    ask: Asking, replicas: float, copied: int
) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    await ask("POST", path, {"metadata": {"name": "d"}, "spec": spec})

    answer = await ask("PATCH", f"{path}/d", {"spec": {"replicas": replicas}}, kind=STRATEGIC)

    if copied < 0:
        assert answer.status == 422
        assert f"spec.replicas: Invalid value: {copied}: " in answer.body["message"]
    else:
        assert answer.body["spec"]["replicas"] == copied
