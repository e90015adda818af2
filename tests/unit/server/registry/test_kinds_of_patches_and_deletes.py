"""Patches that turn an object into another kind, and deletes meant for objects nobody can read."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from proreus.api.group_version import GroupVersionKind
from proreus.server.registry.kinds import not_registered
from tests.unit.server.registry.server_under_test import MERGE, Asking

OPTION = "ignoreStoreReadErrorWithClusterBreakingPotential"


@pytest_asyncio.fixture
async def ask(ask: Asking) -> Asking:
    await ask("POST", "configmaps", {"metadata": {"name": "a"}})
    return ask


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


def test_kinds_of_definitions_are_missed_in_a_scheme_of_their_own() -> None:
    missed = not_registered(GroupVersionKind("apiextensions.k8s.io", "v1", "Thing"))

    assert missed == (
        'no kind "Thing" is registered for version "apiextensions.k8s.io/v1" in scheme '
        '"k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55"'
    )


async def test_deleting_what_cannot_be_read_is_refused_for_what_can(ask: Asking) -> None:
    answer = await ask("DELETE", "configmaps/a", {OPTION: True})

    assert answer.status == 422
    assert answer.body["message"] == (
        f'configmaps "a" is invalid: {OPTION}: Invalid value: true: is exclusively used to delete '
        "corrupt object(s), try again by removing this option"
    )
    assert (await ask("GET", "configmaps/a")).status == 200


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"gracePeriodSeconds": 0}, ["gracePeriodSeconds"]),
        ({"propagationPolicy": "Orphan"}, ["propagationPolicy"]),
        ({"orphanDependents": False}, ["orphanDependents"]),
        ({"preconditions": {"uid": "u"}}, ["preconditions"]),
        ({"preconditions": {"resourceVersion": "1"}}, ["preconditions"]),
        ({"preconditions": {}}, ["preconditions"]),
        (
            {"gracePeriodSeconds": 1, "preconditions": {}, "propagationPolicy": "Background"},
            ["propagationPolicy", "gracePeriodSeconds", "preconditions"],
        ),
    ],
)
async def test_deleting_what_cannot_be_read_goes_with_no_other_option(
    ask: Asking, other: dict[str, Any], named: list[str]
) -> None:
    answer = await ask("DELETE", "configmaps/a", {OPTION: True, **other})
    harmless = await ask("DELETE", "configmaps/none", {OPTION: False, **other})

    causes = answer.body["details"]["causes"]
    assert [cause["message"] for cause in causes] == [
        f"Invalid value: true: cannot be set together with .{name}" for name in named
    ]
    assert {cause["field"] for cause in causes} == {OPTION}
    assert answer.body["message"].startswith('DeleteOptions.meta.k8s.io "" is invalid: ')
    assert harmless.status == 404


ONLY_CORRUPT = "is exclusively used to delete corrupt object(s), try again by removing this option"


@pytest.mark.parametrize(
    ("query", "end"),
    [
        (f"{OPTION}=true", ONLY_CORRUPT),
        (f"{OPTION}=true&dryRun=All", ONLY_CORRUPT),
        (f"{OPTION}=true&gracePeriodSeconds=5", "cannot be set together with .gracePeriodSeconds"),
        (f"{OPTION}=true&uid=x", "cannot be set together with .preconditions"),
    ],
)
async def test_the_option_counts_in_the_query_too(ask: Asking, query: str, end: str) -> None:
    answer = await ask("DELETE", f"configmaps/a?{query}")

    assert answer.status == 422
    assert answer.body["message"].endswith(f"{OPTION}: Invalid value: true: {end}")


async def test_what_is_not_there_cannot_be_unreadable(ask: Asking) -> None:
    answer = await ask("DELETE", "configmaps/none", {OPTION: True})

    assert answer.status == 422
    assert answer.body["message"].startswith(f'configmaps "none" is invalid: {OPTION}: ')


async def test_a_collection_is_not_deleted_blindly(ask: Asking) -> None:
    answer = await ask("DELETE", "configmaps", {OPTION: True})

    assert answer.status == 422
    assert answer.body["message"].endswith(
        "is not allowed with DELETECOLLECTION, try again after removing the option"
    )


@pytest.mark.parametrize("version", ["v1", "apps/v1", "meta.k8s.io/v1", "none.example.com/v9", ""])
@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("DeleteOptions", ""),
        ("", ""),
        (
            "CreateOptions",
            "converting (v1.CreateOptions) to (v1.DeleteOptions): unknown conversion",
        ),
        ("Status", "converting (v1.Status) to (v1.DeleteOptions): unknown conversion"),
    ],
)
async def test_options_of_a_deletion_are_known_in_every_version(
    ask: Asking, version: str, kind: str, why: str
) -> None:
    options = {"apiVersion": version, "kind": kind, "dryRun": ["All"]}

    answer = await ask("DELETE", "configmaps/a", options)

    assert answer.status == (400 if why else 200)
    assert answer.body.get("message", "") == why
