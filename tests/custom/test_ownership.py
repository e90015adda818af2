"""Who owns what after a schema says otherwise of its lists and maps: apply goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from proreus.client import ApiError, Client, Conflict
from proreus.testing.server import running_server
from tests.custom.asking import WIDGETS, define, definitions, redefine, until, widgets
from tests.custom.definitions import INTEGER, TEXT, definition, version, widget

_PORT = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": TEXT, "port": INTEGER},
}
KEYED: dict[str, Any] = {
    "type": "array",
    "items": _PORT,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}
WHOLE: dict[str, Any] = {"type": "array", "items": _PORT, "x-kubernetes-list-type": "atomic"}
GRANULAR: dict[str, Any] = {"type": "object", "properties": {"a": TEXT, "b": TEXT}}
ATOMIC: dict[str, Any] = {**GRANULAR, "x-kubernetes-map-type": "atomic"}
PORTS = [{"name": "http", "port": 80}, {"name": "dns", "port": 53}]


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with running_server() as server, server.client() as made:
        yield made


async def switched(client: Client, before: dict[str, Any], after: dict[str, Any]) -> None:
    """The schema of ``spec.field`` becomes another; ``color`` tells when it is in force."""
    marker = {**TEXT, "default": "new"}
    await redefine(client, definition(version(spec={"field": after, "color": marker})))

    async def is_in_force() -> bool:
        return "color" in (await widgets(client).get("a")).to_dict()["spec"]

    await until(is_in_force)


def owned(obj: Any, manager: str) -> Any:
    entries = obj.to_dict()["metadata"]["managedFields"]
    found = next(entry for entry in entries if entry["manager"] == manager)
    return found["fieldsV1"]["f:spec"]["f:field"]


SWITCHES: dict[str, tuple[Any, Any, Any, Any]] = {
    "a keyed list becomes whole": (KEYED, WHOLE, PORTS, PORTS[:1]),
    "a whole list becomes keyed": (WHOLE, KEYED, PORTS, PORTS[:1]),
    "a map becomes whole": (GRANULAR, ATOMIC, {"a": "1", "b": "1"}, {"a": "2"}),
    "a whole map becomes one of parts": (ATOMIC, GRANULAR, {"a": "1", "b": "1"}, {"a": "2"}),
}


@pytest.mark.parametrize("what", SWITCHES)
async def test_its_manager_applies_again(client: Client, what: str) -> None:
    before, after, first, second = SWITCHES[what]
    await define(client, definition(version(spec={"field": before})))
    await widgets(client).apply(widget("a", spec={"field": first}), field_manager="one")
    await switched(client, before, after)

    done = await widgets(client).apply(widget("a", spec={"field": second}), field_manager="one")
    again = await widgets(client).apply(widget("a", spec={"field": second}), field_manager="one")

    if after in (WHOLE, ATOMIC):
        assert done.to_dict()["spec"]["field"] == second
        assert owned(done, "one") == {}
    else:
        assert done.to_dict()["spec"]["field"][:1] == second if isinstance(second, list) else True
        assert owned(done, "one") != {}
    assert again.resource_version == done.resource_version


async def test_a_part_of_what_became_whole_is_the_whole(client: Client) -> None:
    await define(client, definition(version(spec={"field": GRANULAR})))
    await widgets(client).apply(widget("a", spec={"field": {"a": "1"}}), field_manager="one")
    await switched(client, GRANULAR, ATOMIC)

    with pytest.raises(Conflict) as refused:
        await widgets(client).apply(widget("a", spec={"field": {"b": "2"}}), field_manager="two")
    done = await widgets(client).apply(
        widget("a", spec={"field": {"b": "2"}}), field_manager="two", force=True
    )

    assert [cause["field"] for cause in refused.value.details["causes"]] == [".spec.field"]
    assert done.to_dict()["spec"]["field"] == {"b": "2"}
    assert owned(done, "two") == {}
    managers = [entry["manager"] for entry in done.to_dict()["metadata"]["managedFields"]]
    assert managers == ["two"]


async def test_an_update_also_takes_the_whole(client: Client) -> None:
    await define(client, definition(version(spec={"field": KEYED})))
    await widgets(client).apply(widget("a", spec={"field": PORTS}), field_manager="one")
    await switched(client, KEYED, WHOLE)

    done = await widgets(client).patch("a", {"spec": {"field": PORTS[1:]}}, field_manager="editor")

    assert owned(done, "editor") == {}
    managers = [entry["manager"] for entry in done.to_dict()["metadata"]["managedFields"]]
    assert managers == ["editor"]


def of_versions(*names: str) -> dict[str, Any]:
    made = (
        version(name, storage=name == "v1", spec={"size": INTEGER, "a": TEXT}) for name in names
    )
    return definition(*made)


async def test_managers_of_every_version_keep_what_they_own(client: Client) -> None:
    await define(client, of_versions("v1", "v1beta1"))
    beta = widget("a", api_version="example.com/v1beta1", spec={"size": 1})
    await widgets(client, "v1beta1").apply(beta, field_manager="beta")

    await widgets(client).patch("a", {"spec": {"a": "x"}}, field_manager="editor")

    with pytest.raises(Conflict, match='conflict with "beta"'):
        await widgets(client).apply(widget("a", spec={"size": 2}), field_manager="stable")


async def test_owners_in_a_version_that_is_gone_stop_applies_and_are_given_up_by_updates(
    client: Client,
) -> None:
    await define(client, of_versions("v1", "v1beta1"))
    beta = widget("a", api_version="example.com/v1beta1", spec={"size": 1})
    await widgets(client, "v1beta1").apply(beta, field_manager="beta")
    await redefine(client, of_versions("v1"))

    async def is_gone() -> bool:
        try:
            await widgets(client).apply(widget("a", spec={"a": "x"}), field_manager="one")
        except ApiError as refused:
            return "to an invalid group/version: example.com/v1beta1" in str(refused)
        return False

    await until(is_gone)
    done = await widgets(client).patch("a", {"spec": {"a": "y"}}, field_manager="editor")

    assert "managedFields" not in done.to_dict()["metadata"]


async def test_what_is_applied_as_null_is_refused(client: Client) -> None:
    await define(client, of_versions("v1"))

    with pytest.raises(ApiError, match='must be of type string: "null"'):
        await widgets(client).apply(widget("a", spec={"a": None}), field_manager="one")


async def test_a_status_that_is_null_where_there_is_none_changes_nothing(client: Client) -> None:
    parts: dict[str, Any] = {"subresources": {"status": {}}}
    await define(client, definition(version(spec={"a": TEXT}, status={"a": TEXT}, **parts)))
    await widgets(client).create(widget("a"))

    done = await widgets(client).apply_status(widget("a", status=None), field_manager="one")

    assert "status" not in done.to_dict()


async def test_the_status_of_a_definition_is_the_servers(client: Client) -> None:
    await define(client, definition(version(spec={"size": INTEGER})))

    found = (await definitions(client).get(WIDGETS)).to_dict()["metadata"]["managedFields"]

    (entry,) = [one for one in found if one["manager"] == "kube-apiserver"]
    assert (entry["operation"], entry["subresource"]) == ("Update", "status")
    status = entry["fieldsV1"]["f:status"]
    assert {*status["f:conditions"]} == {
        'k:{"type":"Established"}',
        'k:{"type":"NamesAccepted"}',
    }
    assert {*status["f:acceptedNames"]} == {"f:kind", "f:listKind", "f:plural", "f:singular"}
