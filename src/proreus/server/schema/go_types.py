"""How Go names a type: for the messages of its JSON decoder."""

from __future__ import annotations

from typing import assert_never

from proreus.api.typed import Shape, TypeNode

# Fields whose Go type has a name of its own, by struct and field.
_NAMED = {
    "Container.imagePullPolicy": "v1.PullPolicy",
    "Container.terminationMessagePolicy": "v1.TerminationMessagePolicy",
    "ContainerPort.protocol": "v1.Protocol",
    "PersistentVolumeSpec.accessModes": "[]v1.PersistentVolumeAccessMode",
    "PersistentVolumeClaimSpec.accessModes": "[]v1.PersistentVolumeAccessMode",
    "PodSpec.dnsPolicy": "v1.DNSPolicy",
    "PodSpec.restartPolicy": "v1.RestartPolicy",
    "Secret.type": "v1.SecretType",
    "ServicePort.protocol": "v1.Protocol",
    "ServiceSpec.type": "v1.ServiceType",
}


def struct_name(node: TypeNode) -> str:
    """``PodSpec`` for io.k8s.api.core.v1.PodSpec."""
    return node.name.rpartition(".")[2]


def field_type(owner: TypeNode, key: str, node: TypeNode) -> str:
    return _NAMED.get(f"{struct_name(owner)}.{key}") or go_type(node)


def go_type(node: TypeNode) -> str:
    match node.shape:
        case Shape.OBJECT:
            return ".".join(node.name.split(".")[-2:])
        case Shape.LIST:
            return f"[]{go_type(node.element())}" if node.element else "[]interface {}"
        case Shape.MAP:
            inner = node.element() if node.element else None
            if inner is not None and inner.shape is Shape.QUANTITY:
                return "v1.ResourceList"
            return f"map[string]{go_type(inner)}" if inner else "map[string]interface {}"
        case Shape.STRING | Shape.TIME | Shape.MICRO_TIME:
            return "string"
        case Shape.INTEGER | Shape.INT_OR_STRING:
            return node.format or "int32"
        case Shape.NUMBER:
            return "float64"
        case Shape.BOOLEAN:
            return "bool"
        case Shape.BYTES:
            return "[]uint8"
        case Shape.QUANTITY:
            return "resource.Quantity"
        case Shape.ANY:
            return "interface {}"
        case other:
            assert_never(other)


def json_type(value: object) -> str:
    """What Go's decoder calls a JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"
