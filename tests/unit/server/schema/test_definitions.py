"""The definitions the build made: complete, lazy, and the same fields as other clients know."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from types import ModuleType

import pytest

from proreus.api.group_version import GroupVersionKind
from proreus.api.typed import ListType, Shape, TypeNode
from proreus.server.schema.definitions import Definitions

DEFINITIONS = Definitions.load()


def node(group: str, version: str, kind: str) -> TypeNode:
    found = DEFINITIONS.node(GroupVersionKind(group, version, kind))
    assert found is not None
    return found


def field(start: TypeNode, path: str) -> TypeNode:
    for key in path.split("."):
        found = start.element() if key == "[]" and start.element else start.field_of(key)
        assert found is not None, (start, key)
        start = found
    return start


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("metadata.labels", Shape.MAP),
        ("metadata.creationTimestamp", Shape.TIME),
        ("metadata.managedFields.[].fieldsV1", Shape.ANY),
        ("spec.containers", Shape.LIST),
        ("spec.containers.[]", Shape.OBJECT),
        ("spec.containers.[].resources.limits.cpu", Shape.QUANTITY),
        ("spec.containers.[].livenessProbe.httpGet.port", Shape.INT_OR_STRING),
        ("spec.hostNetwork", Shape.BOOLEAN),
        ("spec.priority", Shape.INTEGER),
    ],
)
def test_the_shapes_of_a_pod(path: str, shape: Shape) -> None:
    assert field(node("", "v1", "Pod"), path).shape is shape


def test_lists_know_how_they_are_merged() -> None:
    containers = field(node("", "v1", "Pod"), "spec.containers")
    ports = field(containers, "[].ports")

    assert containers.list_type is ListType.MAP
    assert containers.list_map_keys == ("name",)
    assert containers.patch_merge_key == "name"
    assert ports.list_map_keys == ("containerPort", "protocol")
    assert ports.patch_merge_key == "containerPort"


def test_a_reference_keeps_its_own_merge_rules() -> None:
    strategy = field(node("apps", "v1", "Deployment"), "spec.strategy")

    assert strategy.patch_strategies == {"retainKeys"}
    assert strategy.name == "io.k8s.api.apps.v1.DeploymentStrategy"


def test_a_type_may_contain_itself() -> None:
    props = field(
        node("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        "spec.versions.[].schema.openAPIV3Schema",
    )

    assert field(props, "properties.x.properties.y").name == props.name


def test_nodes_are_shared() -> None:
    assert node("", "v1", "Pod") is node("", "v1", "Pod")


def test_an_unknown_kind_has_no_node() -> None:
    assert DEFINITIONS.node(GroupVersionKind("", "v1", "Nonsense")) is None


def test_raw_definitions_are_openapi_v3() -> None:
    raw = DEFINITIONS.raw("io.k8s.api.core.v1.Pod")

    spec = raw["properties"]["spec"]
    assert spec["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}]
    assert spec["description"]
    assert "$defs" not in str(raw)


def _models() -> Iterator[tuple[str, ModuleType]]:
    """lightkube's modules, with the start of the definitions they stand for."""
    for module, prefix in (
        ("core_v1", "io.k8s.api.core.v1."),
        ("apps_v1", "io.k8s.api.apps.v1."),
        ("batch_v1", "io.k8s.api.batch.v1."),
        ("autoscaling_v2", "io.k8s.api.autoscaling.v2."),
        ("networking_v1", "io.k8s.api.networking.v1."),
        ("policy_v1", "io.k8s.api.policy.v1."),
        ("rbac_v1", "io.k8s.api.rbac.v1."),
        ("storage_v1", "io.k8s.api.storage.v1."),
        ("coordination_v1", "io.k8s.api.coordination.v1."),
        ("discovery_v1", "io.k8s.api.discovery.v1."),
        ("events_v1", "io.k8s.api.events.v1."),
        ("certificates_v1", "io.k8s.api.certificates.v1."),
        ("flowcontrol_v1", "io.k8s.api.flowcontrol.v1."),
        ("scheduling_v1", "io.k8s.api.scheduling.v1."),
        ("resource_v1", "io.k8s.api.resource.v1."),
        ("admissionregistration_v1", "io.k8s.api.admissionregistration.v1."),
        ("meta_v1", "io.k8s.apimachinery.pkg.apis.meta.v1."),
    ):
        yield prefix, importlib.import_module(f"lightkube.models.{module}")


def test_every_type_has_the_fields_lightkube_gives_it() -> None:
    compared = 0
    for prefix, module in _models():
        for name, model in vars(module).items():
            fields = getattr(model, "__struct_fields__", None)
            full = f"{prefix}{name}"
            if fields is None or full not in set(DEFINITIONS):
                continue
            properties = DEFINITIONS.raw(full).get("properties", {})
            # lightkube renames what Python cannot spell: $ref, from, x-kubernetes-….
            theirs = {re.sub(r"\W|_", "", key).lower() for key in fields}
            ours = {re.sub(r"\W|_", "", key).lower() for key in properties}
            assert ours == theirs, full
            compared += 1
    assert compared > 400
