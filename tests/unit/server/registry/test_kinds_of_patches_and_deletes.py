"""Patches that turn an object into another kind, and deletes meant for objects nobody can read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.unit.server.registry.server_under_test import MERGE, Asking, asking

OPTION = "ignoreStoreReadErrorWithClusterBreakingPotential"


@pytest_asyncio.fixture
async def ask() -> AsyncIterator[Asking]:
    async with asking() as ready:
        await ready("POST", "configmaps", {"metadata": {"name": "a"}})
        yield ready


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ({"kind": "Secret"}, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
        (
            {"apiVersion": "v2"},
            'no kind "ConfigMap" is registered for version "v2" in scheme '
            '"pkg/api/legacyscheme/scheme.go:30"',
        ),
    ],
)
async def test_a_patch_cannot_change_the_kind(ask: Asking, patch: dict[str, Any], why: str) -> None:
    answer = await ask("PATCH", "configmaps/a", patch, kind=MERGE)

    assert answer.status == 422
    assert answer.body["details"]["causes"][0]["field"] == "patch"
    assert answer.body["message"].endswith(f": {why}")


async def test_deleting_what_cannot_be_read_is_refused_for_what_can(ask: Asking) -> None:
    answer = await ask("DELETE", "configmaps/a", {OPTION: True})

    assert answer.status == 422
    assert answer.body["message"] == (
        f'configmaps "a" is invalid: {OPTION}: Invalid value: true: is exclusively used to delete '
        "corrupt object(s), try again by removing this option"
    )
    assert (await ask("GET", "configmaps/a")).status == 200


async def test_deleting_what_cannot_be_read_goes_with_no_other_option(ask: Asking) -> None:
    answer = await ask("DELETE", "configmaps/a", {OPTION: True, "gracePeriodSeconds": 1})

    assert answer.body["message"] == (
        f'DeleteOptions.meta.k8s.io "" is invalid: {OPTION}: Invalid value: true: cannot be set '
        "together with .gracePeriodSeconds"
    )


async def test_a_collection_is_not_deleted_blindly(ask: Asking) -> None:
    answer = await ask("DELETE", "configmaps", {OPTION: True})

    assert answer.status == 422
    assert answer.body["message"].endswith(
        "is not allowed with DELETECOLLECTION, try again after removing the option"
    )
