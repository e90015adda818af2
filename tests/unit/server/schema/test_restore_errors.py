"""What is said of a value that cannot be copied into a field: after strategic merges and apply."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.group_version import GroupVersionKind
from proreus.server.schema.check import DecodeError, check
from proreus.server.schema.copied_numbers import with_copied_numbers
from proreus.server.schema.definitions import Definitions

QUANTITY = "quantities must match the regular expression"


def container(**fields: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [fields]}}}}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"spec": {"replicas": "x"}}, "unrecognized type: int32"),
        ({"spec": {"replicas": True}}, "unrecognized type: int32"),
        ({"spec": {"replicas": 1.5}}, "cannot convert float64 to int32"),
        ({"spec": {"paused": "x"}}, "unrecognized type: bool"),
        ({"spec": 5}, "cannot restore struct from: int64"),
        ({"spec": []}, "cannot restore struct from: slice"),
        ({"metadata": {"labels": "x"}}, "cannot restore map from string"),
        ({"metadata": {"labels": {"a": 5}}}, "cannot convert int64 to string"),
        ({"metadata": {"labels": {"a": True}}}, "unrecognized type: string"),
        ({"metadata": {"uid": 5}}, "cannot convert int64 to types.UID"),
        ({"metadata": {"creationTimestamp": 5}},
         "json: cannot unmarshal number into Go value of type string"),
        (container(name="a", args="x"), "cannot restore slice from string"),
        (container(name="a", image={}), "unrecognized type: string"),
        (container(name="a", imagePullPolicy=5), "cannot convert int64 to v1.PullPolicy"),
        ({"spec": {"strategy": {"rollingUpdate": {"maxSurge": True}}}},
         "json: cannot unmarshal bool into Go value of type int32"),
    ],
)  # fmt: skip
def test_types_that_differ(value: dict[str, Any], message: str) -> None:
    assert fault("apps", "Deployment", value) == message


def test_texts_with_a_grammar_of_their_own() -> None:
    secret = fault("", "Secret", {"data": {"a": "!"}})
    amounts = container(name="a", resources={"limits": {"cpu": "x"}})

    assert secret == "error decoding from json: illegal base64 data at input byte 0"
    assert fault("apps", "Deployment", amounts).startswith(QUANTITY)


def fault(group: str, kind: str, value: dict[str, Any]) -> str:
    node = Definitions.load().node(GroupVersionKind(group, "v1", kind))
    assert node is not None
    with pytest.raises(DecodeError) as caught:
        check(node, value, is_text=False)
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "copied"),
    [(2.0, 2), (2**31, -(2**31)), (2**32 + 3, 3), (-(2**31) - 1, 2**31 - 1), (1e30, 0), (1.5, 1.5)],
)
def test_whole_numbers_keep_their_low_bits_when_they_are_copied(
    given: float, copied: float
) -> None:
    node = Definitions.load().node(GroupVersionKind("apps", "v1", "Deployment"))
    assert node is not None
    value = {"spec": {"replicas": given, "paused": True, "template": {"x": given}}}

    found = with_copied_numbers(node, value)

    assert found["spec"] == {"replicas": copied, "paused": True, "template": {"x": given}}


def test_long_numbers_keep_more_bits() -> None:
    node = Definitions.load().node(GroupVersionKind("", "v1", "Pod"))
    assert node is not None
    seconds = "terminationGracePeriodSeconds"

    for given, copied in ((2**40, 2**40), (1e30, -(2**63)), (2**63, -(2**63))):
        found = with_copied_numbers(node, {"spec": {seconds: given}})
        assert found["spec"][seconds] == copied
