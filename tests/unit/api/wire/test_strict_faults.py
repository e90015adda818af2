"""Fields that are unknown or given twice, in the order in which a real server reads them."""

from __future__ import annotations

import pytest

from proreus.api.field_error import FAULTS_MAX
from proreus.api.group_version import GroupVersionKind
from proreus.api.wire.strict_faults import strict_faults
from proreus.server.schema.definitions import Definitions


def faults(text: str, kind: str = "Pod", group: str = "") -> list[str]:
    node = Definitions.load().node(GroupVersionKind(group, "v1", kind))
    assert node is not None
    return strict_faults(node, text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"metadata":{"name":"a","name":"b"},"metadata":{"x":1},"y":1}',
         ['duplicate field "metadata.name"', 'duplicate field "metadata"',
          'unknown field "metadata.x"', 'unknown field "y"']),
        # what is below an unknown field is not looked into, and it is named once
        ('{"x":{"a":1,"a":2},"x":{"name":1}}', ['unknown field "x"']),
        # a list that was replaced was read, too
        ('{"spec":{"containers":[{"x":1}]},"spec":{"containers":[{},{"image":"a","image":"b"}]}}',
         ['unknown field "spec.containers[0].x"', 'duplicate field "spec"',
          'duplicate field "spec.containers[1].image"']),
        ('{"metadata":{"labels":{"a":"b","a":"c"}}}',
         ['duplicate field "metadata.labels.a"']),
        ('{"metadata":{"na\\u006de":"a","name":"b"}}', ['duplicate field "metadata.name"']),
        ('{"spec":5,"spec":[{"a":1,"a":2}],"status":"x"}', ['duplicate field "spec"']),
        ("[]", []),
        ('"a"', []),
    ],
)  # fmt: skip
def test_faults_are_named_as_they_are_read(text: str, found: list[str]) -> None:
    assert faults(text) == found


def test_values_that_decode_themselves_are_not_looked_into() -> None:
    text = '{"data":{"a":1,"a":2},"revision":1,"revision":2}'

    assert faults(text, "ControllerRevision", "apps") == ['duplicate field "revision"']


def test_of_very_many_faults_only_the_first_are_looked_for() -> None:
    text = ",".join(f'"x{number}":1' for number in range(1000))

    assert len(faults(f"{{{text}}}")) == FAULTS_MAX + 1
