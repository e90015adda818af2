"""What a definition says about itself: who has the names, who approved it, what is wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from proreus.client import Client, Forbidden, Invalid
from proreus.testing.server import running_server
from tests.custom.asking import PATIENCE_S, WIDGETS, conditions, define, definitions, until, widgets
from tests.custom.definitions import INTEGER, definition, version, widget

_GROUP = "gears.k8s.io"
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
_MUST = 'protected groups must have approval annotation "api-approved.kubernetes.io"'
_CONFORMANT = "KubernetesAPIApprovalPolicyConformant"


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with running_server() as server, server.client() as made:
        yield made


def protected(approved: str | None) -> dict[str, Any]:
    body = definition(version(spec={"size": INTEGER}))
    body["spec"]["group"] = _GROUP
    body["metadata"] = {"name": f"widgets.{_GROUP}"}
    if approved is not None:
        body["metadata"]["annotations"] = {"api-approved.kubernetes.io": approved}
    return body


@pytest.mark.parametrize(
    ("approved", "message"),
    [
        (None, f"Required value: {_MUST}, {_SEE}"),
        (
            "me",
            f'Invalid value: "me": {_MUST} with either a URL or a reason starting with '
            f'"unapproved", {_SEE}',
        ),
    ],
)
async def test_a_protected_group_needs_an_approval(
    client: Client, approved: str | None, message: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await definitions(client).create(protected(approved))

    assert refused.value.message == (
        f'CustomResourceDefinition.apiextensions.k8s.io "widgets.{_GROUP}" is invalid: '
        f"metadata.annotations[api-approved.kubernetes.io]: {message}"
    )


@pytest.mark.parametrize(
    ("approved", "condition"),
    [
        (
            "https://example.com/pull/1",
            ("True", "ApprovedAnnotation", "approved in https://example.com/pull/1"),
        ),
        (
            "unapproved, a test",
            ("False", "UnapprovedAnnotation", 'not approved: "unapproved, a test"'),
        ),
    ],
)
async def test_an_approval_is_reported_as_a_condition(
    client: Client, approved: str, condition: tuple[str, str, str]
) -> None:
    await define(client, protected(approved))

    assert (await conditions(client, f"widgets.{_GROUP}"))[_CONFORMANT] == condition


async def test_an_approval_may_be_given_later_but_not_taken_back(client: Client) -> None:
    name = f"widgets.{_GROUP}"
    await define(client, protected("unapproved, so far"))

    url = {"api-approved.kubernetes.io": "https://example.com/pull/1"}
    await definitions(client).patch(name, {"metadata": {"annotations": url}})

    async def is_approved() -> bool:
        return (await conditions(client, name))[_CONFORMANT][0] == "True"

    await until(is_approved)
    with pytest.raises(Invalid, match="protected groups must have approval"):
        await definitions(client).patch(name, {"metadata": {"annotations": None}})


async def test_other_groups_say_nothing_about_approval(client: Client) -> None:
    await define(client, definition(version(spec={"size": INTEGER})))

    assert set(await conditions(client, WIDGETS)) == {"NamesAccepted", "Established"}


async def test_names_are_given_when_their_holder_goes(client: Client) -> None:
    await define(client, definition(version(), shortNames=["wd"]))
    await definitions(client).create(
        definition(version(), plural="doodads", kind="Doodad", shortNames=["wd"])
    )

    async def is_refused() -> bool:
        return "NamesAccepted" in await conditions(client, "doodads.example.com")

    await until(is_refused)
    condition = await conditions(client, "doodads.example.com")
    assert condition["NamesAccepted"] == ("False", "ShortNamesConflict", '"wd" is already in use')
    assert condition["Established"] == ("False", "NotAccepted", "not all names are accepted")

    await definitions(client).delete(WIDGETS)
    await definitions(client).wait_for(
        "doodads.example.com", "condition=Established", timeout_s=PATIENCE_S
    )
    assert (await conditions(client, "doodads.example.com"))["NamesAccepted"][0] == "True"


async def test_names_are_given_when_their_holder_takes_others(client: Client) -> None:
    await define(client, definition(version(), shortNames=["wd"]))
    await definitions(client).create(
        definition(version(), plural="doodads", kind="Doodad", shortNames=["wd"])
    )

    await definitions(client).patch(WIDGETS, {"spec": {"names": {"shortNames": ["wi"]}}})

    await definitions(client).wait_for(
        "doodads.example.com", "condition=Established", timeout_s=PATIENCE_S
    )


async def test_a_definition_on_its_way_out_says_so(client: Client) -> None:
    await define(client, definition(version(spec={"size": INTEGER})))
    held = widget("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await widgets(client).create(held)

    await definitions(client).delete(WIDGETS)

    async def is_in_progress() -> bool:
        found = (await conditions(client, WIDGETS)).get("Terminating", ("", "", ""))
        return found[1] == "InstanceDeletionInProgress"

    await until(is_in_progress)
    assert (await conditions(client, WIDGETS))["Terminating"] == (
        "True",
        "InstanceDeletionInProgress",
        "CustomResource deletion is in progress",
    )
    await widgets(client).patch("held", {"metadata": {"finalizers": None}})
    await definitions(client).wait_deleted(WIDGETS, timeout_s=PATIENCE_S)


async def test_a_definition_without_instances_that_is_held_says_so_and_serves_again(
    client: Client,
) -> None:
    body = definition(version(spec={"size": INTEGER}))
    body["metadata"]["finalizers"] = ["example.com/hold"]
    await define(client, body)

    await definitions(client).delete(WIDGETS)

    async def is_done() -> bool:
        return (await conditions(client, WIDGETS))["Terminating"][0] == "False"

    await until(is_done)
    found = await definitions(client).get(WIDGETS)
    assert (await conditions(client, WIDGETS))["Terminating"] == (
        "False",
        "InstanceDeletionCompleted",
        "removed all instances",
    )
    assert found.metadata.finalizers == ["example.com/hold"]

    async def is_served() -> bool:
        try:
            await widgets(client).create(widget("late"))
        except Forbidden:
            return False
        return True

    await until(is_served)
    await definitions(client).patch(WIDGETS, {"metadata": {"finalizers": None}})
    await definitions(client).wait_deleted(WIDGETS, timeout_s=PATIENCE_S)
