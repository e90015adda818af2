"""Which reviews of access are refused."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.http.handlers.review_rules import access_violations

GET = {"verb": "get", "resource": "configmaps", "namespace": "ns"}
PATH = {"verb": "get", "path": "/x"}
ONE = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
FIELDS = "spec.resourceAttributes.fieldSelector"
LABELS = "spec.resourceAttributes.labelSelector"
QUOTED = '{"Path":"/x","Verb":"get"}'


def said(spec: dict[str, Any], *, is_self: bool = False, namespace: str = "") -> list[str]:
    return [str(one) for one in access_violations(spec, is_self=is_self, namespace=namespace)]


@pytest.mark.parametrize(
    ("spec", "faults"),
    [
        ({"user": "u"}, [f"spec: Invalid value: null: {ONE}"]),
        (
            {"user": "u", "resourceAttributes": GET, "nonResourceAttributes": PATH},
            [f"spec: Invalid value: {QUOTED}: {ONE}"],
        ),
        (
            {},
            [
                f"spec: Invalid value: null: {ONE}",
                'spec.user: Invalid value: "": at least one of user or group must be specified',
            ],
        ),
        ({"groups": ["g"], "nonResourceAttributes": PATH}, []),
        ({"user": "u", "resourceAttributes": GET}, []),
    ],
)
def test_a_review_asks_one_thing_about_somebody(spec: dict[str, Any], faults: list[str]) -> None:
    assert said(spec) == faults


def test_a_review_about_oneself_names_nobody() -> None:
    assert said({"resourceAttributes": GET}, is_self=True) == []


@pytest.mark.parametrize(
    ("asked", "faults"),
    [
        ({"resourceAttributes": GET}, []),
        (
            {"resourceAttributes": {**GET, "namespace": "other"}},
            ['spec.resourceAttributes.namespace: Invalid value: "other": must match '
             "metadata.namespace"],
        ),
        (
            {"resourceAttributes": {"verb": "get"}},
            ['spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace'],
        ),
        (
            {"nonResourceAttributes": PATH},
            [f"spec.nonResourceAttributes: Invalid value: {QUOTED}: disallowed on this kind of "
             "request"],
        ),
    ],
)  # fmt: skip
def test_a_local_review_is_of_its_namespace(asked: dict[str, Any], faults: list[str]) -> None:
    assert said({"user": "u", **asked}, namespace="ns") == faults


@pytest.mark.parametrize(
    ("name", "at", "selector", "faults"),
    [
        ("fieldSelector", FIELDS, {}, [".requirements: Required value: when {at} is specified, "
                                       "requirements or rawSelector is required"]),
        ("labelSelector", LABELS, {"rawSelector": "a=b"}, []),
        (
            "fieldSelector", FIELDS,
            {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "Exists"}]},
            ['.rawSelector: Invalid value: "a=b": may not specified at the same time as '
             "requirements"],
        ),
        (
            "fieldSelector", FIELDS, {"requirements": [{"operator": "In"}]},
            [".requirements[0].key: Required value: must be specified",
             ".requirements[0].values: Required value: must be specified when `operator` is 'In' "
             "or 'NotIn'"],
        ),
        ("fieldSelector", FIELDS, {"requirements": [{"key": "a b", "operator": "Exists"}]}, []),
        (
            "labelSelector", LABELS,
            {"requirements": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
            [".requirements[0].values: Forbidden: may not be specified when `operator` is 'Exists' "
             "or 'DoesNotExist'"],
        ),
        ("labelSelector", LABELS, {"requirements": [{"key": "a", "operator": "Unheard"}]}, []),
    ],
)  # fmt: skip
def test_selectors_are_whole(
    name: str, at: str, selector: dict[str, Any], faults: list[str]
) -> None:
    found = said({"user": "u", "resourceAttributes": {**GET, name: selector}})

    assert found == [f"{at}{fault.format(at=at)}" for fault in faults]


def test_labels_in_selectors_are_labels() -> None:
    requirement = {"key": "a b", "operator": "In", "values": ["-"]}
    asked = {**GET, "labelSelector": {"requirements": [requirement]}}

    key, value = said({"user": "u", "resourceAttributes": asked})

    assert key.startswith(f'{LABELS}.requirements[0].key: Invalid value: "a b": name part must')
    assert value.startswith(f'{LABELS}.requirements[0].values[0]: Invalid value: "-": a valid')


def test_a_review_has_no_name_and_no_labels() -> None:
    def faults(metadata: dict[str, Any], namespace: str = "") -> list[str]:
        spec = {"user": "u", "resourceAttributes": GET}
        found = access_violations(spec, is_self=False, namespace=namespace, metadata=metadata)
        return [str(one) for one in found]

    assert faults({"name": "x"}) == ['metadata: Invalid value: {"name":"x"}: must be empty']
    assert faults({"labels": {}, "namespace": "other", "managedFields": [{}]}) == []
    assert faults({"name": "x"}, "ns") == [
        'metadata: Invalid value: {"name":"x","namespace":"ns"}: must be empty except for namespace'
    ]
    assert faults({"namespace": "ns"}, "ns") == []


def test_metadata_is_printed_in_the_order_of_its_fields_whatever_order_it_came_in() -> None:
    owner = {"uid": "1", "name": "o", "kind": "Pod", "apiVersion": "v1"}
    given = {"ownerReferences": [owner], "labels": {"b": "1", "a": "2"}, "name": "n"}

    found = access_violations(
        {"resourceAttributes": GET}, is_self=True, namespace="ns", metadata=given
    )

    assert [str(one) for one in found] == [
        'metadata: Invalid value: {"name":"n","namespace":"ns","labels":{"a":"2","b":"1"},'
        '"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"o","uid":"1"}]}: '
        "must be empty except for namespace"
    ]
