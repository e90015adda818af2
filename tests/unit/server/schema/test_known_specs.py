"""A spec that came before gives the same object as one that is decoded."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.group_version import GroupVersionKind
from proreus.api.wire import json
from proreus.server.schema.check import check
from proreus.server.schema.definitions import Definitions
from proreus.server.schema.known_specs import KnownSpecs, Split, split

POD = GroupVersionKind("", "v1", "Pod")


def pod(**more: Any) -> dict[str, Any]:
    env = [{"name": f"A_{number}", "value": "x" * 20} for number in range(12)]
    container = {"name": "a", "image": "b", "env": env, "resources": {"limits": {"cpu": "1000m"}}}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "a"},
        "spec": {"containers": [container]},
        **more,
    }


def parts(value: Any) -> Split:
    found = split(json.encode(value), POD)
    assert found is not None
    return found


def test_a_body_is_split_into_its_spec_and_the_rest() -> None:
    found = parts(pod(status={"phase": "Running"}))

    assert json.decode(found.spec) == pod()["spec"]
    assert json.decode(found.rest) == pod(spec={}, status={"phase": "Running"})


BODY = json.encode(pod())


@pytest.mark.parametrize(
    "body",
    [
        BODY.replace(b'"metadata":{', b'"metadata": {'),
        BODY.replace(b'"kind"', b'"\\u006bind"'),
        BODY.replace(b'"Pod"', b'"\\u0050od"'),
        BODY[:-1] + b',"kind":"Pod"}',
        BODY[:-1] + b',"spec":' + json.encode(pod()["spec"]) + b"}",
        BODY[:-1] + b',"more":1}',
        BODY.replace(b'"v1"', b'"v2"', 1),
        BODY.replace(b'"Pod"', b'"Node"', 1),
        BODY + b" ",
        BODY[:-1],
        b'{"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{}}',
        b"[]",
        b"",
    ],
    ids=["space", "escaped key", "escaped kind", "kind twice", "spec twice", "another field",
         "other version", "other kind", "space at the end", "cut off", "short", "list", "empty"],
)  # fmt: skip
def test_what_programs_do_not_write_goes_the_long_way(body: bytes) -> None:
    assert split(body, POD) is None


def test_a_known_spec_is_what_checking_made_of_it() -> None:
    node = Definitions.load().node(POD)
    assert node is not None
    known, body = KnownSpecs(), parts(pod())
    checked = check(node, pod()).value["spec"]

    known.add(body, checked)
    assert known.find(body) is None  # what came once may never come again
    known.add(body, checked)

    first, second = known.find(body), known.find(body)
    assert first == second == checked
    assert first is not second


def test_another_kind_with_the_same_spec_is_not_known() -> None:
    known, body = KnownSpecs(), parts(pod())
    for _ in range(2):
        known.add(body, {})

    assert known.find(Split("Deployment", "apps/v1", body.spec, body.rest)) is None


def test_only_so_many_bytes_are_kept() -> None:
    known = KnownSpecs(bytes_max=2_000)
    for number in range(20):
        body = parts(pod(spec={"nodeName": f"node-{number}", "more": "x" * 300}))
        for _ in range(2):
            known.add(body, {"a": number})

    assert known.find(body) == {"a": 19}
    assert "5 of 1700 B" in repr(known)
