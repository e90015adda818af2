"""The classes of built-in kinds in a running program."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from proreus.api.kinds.core_v1 import Container, Node, Pod, PodSpec
from proreus.api.kinds.meta_v1 import ObjectMeta
from proreus.api.object import KubeObject
from proreus.client.resources.builtin import BUILTIN, canonical_name, resource_name
from proreus.client.rest.request import InvalidRequest


def web() -> Pod:
    return Pod(
        metadata=ObjectMeta(name="web", labels={"a": "b"}),
        spec=PodSpec(containers=[Container(name="main"), {"name": "side"}], hostname=None),
    )


def test_a_constructor_makes_the_object_that_the_json_would_be() -> None:
    assert web() == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "main"}, {"name": "side"}]},
    }
    assert web().spec.containers[1].image is None


def test_a_constructor_refuses_a_field_that_the_type_does_not_have() -> None:
    with pytest.raises(TypeError, match="Container has no field 'nmae'; did you mean 'name'"):
        Container(nmae="main")  # type: ignore[call-arg]


def test_an_object_is_an_instance_of_its_kind_and_a_part_of_its_type() -> None:
    read: Any = KubeObject.from_bytes(web().raw)

    for value, kind, is_one in (
        (read, Pod, True),
        (read, Node, False),
        (read.spec, PodSpec, True),
        (read.spec, Container, False),
        (read.spec.containers[0], Container, True),
        ({}, PodSpec, False),
    ):
        assert isinstance(value, kind) is is_one


def test_every_resource_of_the_client_has_a_class_that_names_it() -> None:
    for one in BUILTIN:
        module = f"{one.group.partition('.')[0] or 'core'}_{one.version}"
        found = getattr(importlib.import_module(f"proreus.api.kinds.{module}"), one.kind)
        assert BUILTIN.by_name(resource_name(found)) == one


def test_a_class_that_stands_for_no_kind_names_no_resource() -> None:
    with pytest.raises(InvalidRequest, match="is no kind"):
        resource_name(KubeObject)
    assert canonical_name(resource_name(Pod)) == "pods"


def test_a_module_has_no_other_names() -> None:
    module = importlib.import_module("proreus.api.kinds.core_v1")

    assert "Pod" in dir(module)
    with pytest.raises(AttributeError, match="no attribute 'Podd'"):
        _ = module.Podd
