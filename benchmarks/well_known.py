"""Definitions like those of well-known operators, written for measuring: as large, as deep."""

from __future__ import annotations

from typing import Any

from benchmarks._definitions import definition
from proreus.server.schema.definitions import Definitions

Schema = dict[str, Any]
_REF = "#/components/schemas/"
_STATUS: Schema = {"subresources": {"status": {}}}
_ANY: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_INT_OR_STRING: Schema = {
    "x-kubernetes-int-or-string": True,
    "anyOf": [{"type": "integer"}, {"type": "string"}],
}
_LEAVES: dict[str, Schema] = {
    "Quantity": {**_INT_OR_STRING, "pattern": r"^(\+|-)?[0-9.]+([KMGTPE]i?|[munk])?$"},
    "IntOrString": _INT_OR_STRING,
    "Time": {"type": "string", "format": "date-time"},
    "ObjectMeta": _ANY,
    "FieldsV1": _ANY,
}
_TEXT: Schema = {"type": "string", "description": "A sentence that explains what this is for."}
_SHORT: Schema = {**_TEXT, "maxLength": 253}


def definitions() -> dict[str, dict[str, Any]]:
    """By the project they resemble."""
    return {
        "certificates": definition("certificates", "Certificate", _certificate(), **_STATUS),
        "monitoring": definition("monitors", "Monitor", _monitoring(), **_STATUS),
        "workflows": definition("workflows", "Workflow", _workflow(), **_STATUS),
    }


def lines(body: dict[str, Any]) -> int:
    """About as many as YAML has: one per key and item."""
    return _count(body)


def _count(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_count(one) for one in value.values())
    return len(value) + sum(_count(one) for one in value) if isinstance(value, list) else 0


def _certificate() -> Schema:
    """Issuers with solvers that bring pods along, and rules between their fields."""
    secret = _object(name=_SHORT, key=_SHORT, required=["name"])
    solver = _object(
        selector=_object(dnsNames=_list(_SHORT, 100), matchLabels=_map(_SHORT, 50)),
        http01=_object(podTemplate=_template(), serviceType=_SHORT, ingressClassName=_SHORT),
        dns01=_fields(12, _object(account=_SHORT, zone=_SHORT, secret=secret)),
    )  # fmt: skip
    solver["x-kubernetes-validations"] = [
        {"rule": "has(self.http01) != has(self.dns01)", "message": "exactly one solver"}
    ]
    acme = _object(server=_SHORT, email=_SHORT, solvers=_list(solver, 20), key=secret)
    spec = _object(
        acme=acme,
        vault=_object(server=_SHORT, path=_SHORT, token=secret, roles=_list(_SHORT, 20)),
        duration={**_TEXT, "format": "duration"},
        renewBefore={**_TEXT, "format": "duration"},
        dnsNames=_list(_SHORT, 100),
        secretName=_SHORT,
        usages=_list({"type": "string", "enum": ["signing", "digital signature"]}, 30),
    )
    spec["x-kubernetes-validations"] = [
        {"rule": "!has(self.renewBefore) || self.renewBefore < self.duration"},
        {"rule": "self.dnsNames.all(name, !name.startsWith('.'))"},
        {"rule": "self.secretName == oldSelf.secretName", "message": "secretName is immutable"},
    ]
    return _object(spec=spec, status=_status())


def _monitoring() -> Schema:
    """Whole pods with their volumes, twice, and long lists of endpoints."""
    endpoint = _object(
        settings=_fields(25, _SHORT),
        relabelings=_list(_object(action=_SHORT, regex=_SHORT, labels=_list(_SHORT, 20)), 50),
        tls=_object(ca=_object(name=_SHORT, key=_SHORT), insecure={"type": "boolean"}),
        port=_INT_OR_STRING,
    )
    spec = _object(
        template=_template(),
        containers=_inlined("io.k8s.api.core.v1.PodSpec")["properties"]["containers"],
        volumes=_inlined("io.k8s.api.core.v1.PodSpec")["properties"]["volumes"],
        storage=_inlined("io.k8s.api.core.v1.PersistentVolumeClaimSpec"),
        endpoints=_list(endpoint, 100),
        replicas={"type": "integer", "format": "int32", "minimum": 0, "default": 1},
    )
    return _object(spec=spec, status=_status())


def _workflow() -> Schema:
    """Templates made of pods, several ways."""
    step = _object(
        container=_inlined("io.k8s.api.core.v1.Container"),
        script=_inlined("io.k8s.api.core.v1.Container"),
        sidecars=_list(_inlined("io.k8s.api.core.v1.Container"), 10),
        affinity=_inlined("io.k8s.api.core.v1.Affinity"),
        volumes=_list(_inlined("io.k8s.api.core.v1.Volume"), 50),
        inputs=_object(parameters=_list(_object(name=_SHORT, value=_ANY), 100)),
    )
    spec = _object(templates=_list(step, 100), arguments=_ANY, podSpec=_template())
    return _object(spec=spec, status=_status())


def _status() -> Schema:
    condition = _object(
        type=_SHORT,
        status={"type": "string", "enum": ["True", "False", "Unknown"]},
        reason=_SHORT,
        message=_TEXT,
        lastTransitionTime={"type": "string", "format": "date-time"},
        required=["type", "status"],
    )
    listed = _list(condition, 20)
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    return _object(conditions={**listed, **keyed}, observedGeneration={"type": "integer"})


def _template() -> Schema:
    return _inlined("io.k8s.api.core.v1.PodTemplateSpec")


def _inlined(name: str) -> Schema:
    return _without_references(Definitions.load().raw(name))


def _without_references(schema: Schema) -> Schema:
    reference = schema.get("$ref") or (schema.get("allOf") or [{}])[0].get("$ref")
    if reference:
        name = reference.removeprefix(_REF)
        return _LEAVES.get(name.rpartition(".")[2]) or _inlined(name)
    words = ("type", "description", "format", "required", "enum", "x-kubernetes-map-type")
    made = {key: value for key, value in schema.items() if key in words}
    if "properties" in schema:
        fields = schema["properties"].items()
        made["properties"] = {key: _without_references(field) for key, field in fields}
    for word in ("additionalProperties", "items"):
        if word in schema:
            made[word] = _without_references(schema[word])
    return made


def _object(*, required: list[str] | None = None, **fields: Schema) -> Schema:
    made: Schema = {"type": "object", "properties": fields}
    return {**made, "required": required} if required else made


def _fields(number: int, each: Schema) -> Schema:
    return {"type": "object", "properties": {f"field{index}": each for index in range(number)}}


def _list(items: Schema, most: int) -> Schema:
    return {"type": "array", "items": items, "maxItems": most}


def _map(values: Schema, most: int) -> Schema:
    return {"type": "object", "additionalProperties": values, "maxProperties": most}
