"""Of the published definitions: types for type checkers, field names for the running client.

Run by ``hatch_build``. Below ``api/kinds`` every group version the client knows becomes a stub
(``core_v1.pyi``: attribute classes with keyword constructors) and a module of three lines
(``core_v1.py``) that makes the classes somebody asks for; ``fields.json`` has the fields of every
definition. ``client/resources/builtin_groups.pyi`` gives the client's groups their resources,
``blocking/builtin_groups.pyi`` those of the client without ``await``.
"""

from __future__ import annotations

import json
import keyword
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KINDS = "src/proreus/api/kinds"
# The stubs of both clients' groups, with the modules of their classes.
GROUPS = {
    "src/proreus/client/resources/builtin_groups.pyi": (
        "from proreus.client.resources.groups import GroupClient",
        "from proreus.client.resources.resource_client import ResourceClient",
    ),
    "src/proreus/blocking/builtin_groups.pyi": (
        "from proreus.blocking.groups import GroupClient",
        "from proreus.blocking.resource_client import ResourceClient",
    ),
}
TABLE = "src/proreus/client/resources/builtin_table.py"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_MADE = "Made by hatch_kinds.py at build time; do not edit."
_SCALARS = {"string": "_str", "integer": "_int", "number": "_float", "boolean": "_bool"}
_TEXTS = {f"{_META}.Time", f"{_META}.MicroTime", f"{_META}.Duration"}
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
# Words of a Python mapping: fields of these names are read by key.
_BY_KEY = {"items", "keys", "values", "get"}


def files(
    definitions: dict[str, Any], kinds: dict[str, str], root: Path
) -> Iterator[tuple[str, str]]:
    """Every file to write: its path, its text."""
    resources = _resources(runpy.run_path(str(root / TABLE))["TABLE"])
    yield (
        f"{KINDS}/fields.json",
        json.dumps(_field_names(definitions, kinds), separators=(",", ":")),
    )
    modules = sorted({_module(name) for name in definitions} & {*resources, "meta_v1"})
    for module in modules:
        yield f"{KINDS}/{module}.py", _runtime_module(module)
        yield f"{KINDS}/{module}.pyi", _Stub(definitions, kinds, module, modules).text()
    for path, imports in GROUPS.items():
        yield path, _groups(resources, imports)


def _module(definition: str) -> str:
    """``io.k8s.api.core.v1.Pod`` → ``core_v1``, as the client spells its groups."""
    *_, group, version, _ = definition.split(".")
    return f"{group.replace('-', '_')}_{version}"


def _type_name(definition: str) -> str:
    return f"{_module(definition)}.{definition.rpartition('.')[2]}"


def _target(schema: dict[str, Any]) -> str:
    """The definition that a schema refers to, "" if it is none."""
    for part in (schema, *schema.get("allOf", ())):
        if "$ref" in part:
            return str(part["$ref"]).removeprefix("#/components/schemas/")
    return ""


def _field_names(definitions: dict[str, Any], kinds: dict[str, str]) -> dict[str, Any]:
    """``types``: of every definition its fields, each with the type below: a definition, a list or
    map of such (``*``), or "" for what has no fields of its own."""

    def below(schema: dict[str, Any]) -> str:
        if target := _target(schema):
            return _type_name(target) if definitions[target].get("properties") else ""
        element = schema.get("items") or schema.get("additionalProperties")
        return f"*{below(element)}" if isinstance(element, dict) else ""

    return {
        "kinds": {kind.removeprefix("/"): _type_name(name) for kind, name in kinds.items()},
        "types": {
            _type_name(name): {field: below(schema) for field, schema in fields.items()}
            for name, definition in definitions.items()
            if (fields := definition.get("properties"))
        },
    }


def _runtime_module(module: str) -> str:
    return f'''"""{_MADE}"""

from proreus.api.kinds.classes import class_names, class_of


def __getattr__(name: str) -> object:
    found = globals()[name] = class_of("{module}", name)
    return found


def __dir__() -> list[str]:
    return class_names("{module}")
'''


class _Stub:
    """The stub of one group version."""

    def __init__(
        self, definitions: dict[str, Any], kinds: dict[str, str], module: str, modules: list[str]
    ) -> None:
        self._definitions = definitions
        self._kinds = {name: kind for kind, name in kinds.items()}
        self._module = module
        self._modules = modules

    def text(self) -> str:
        classes = [
            self._class(name, definition)
            for name, definition in sorted(self._definitions.items())
            if _module(name) == self._module
            and definition.get("properties")
            and not name.endswith("List")
        ]
        others = [one for one in self._modules if one != self._module]
        body = "\n".join(classes)
        used = [one for one in others if f"{one}." in body]
        return (
            f"# {_MADE}\n"
            '# mypy: disable-error-code="assignment, misc, override"\n'
            "# pyright: reportIncompatibleMethodOverride=false\n"
            "# pyright: reportIncompatibleVariableOverride=false, reportAssignmentType=false\n"
            "from builtins import bool as _bool, float as _float, int as _int, str as _str\n"
            "from collections.abc import Mapping as _Mapping, Sequence as _Sequence\n"
            "from typing import Any as _Any\n"
            "from proreus.api.frozen import FrozenList as _List, FrozenMapping as _Part\n"
            "from proreus.api.object import KubeObject as _Object\n"
            + "".join(f"from proreus.api.kinds import {one}\n" for one in used)
            + "\n"
            + body
        )

    def _class(self, name: str, definition: dict[str, Any]) -> str:
        fields = definition["properties"]
        required = set(definition.get("required", ()))
        is_kind = name in self._kinds and {"metadata", "apiVersion", "kind"} <= fields.keys()
        head = [
            f"class {name.rpartition('.')[2]}({'_Object' if is_kind else '_Part'}):",
            "    __getattr__: None",  # no field but these
        ]
        if is_kind:  # said by the class itself
            fields = {key: fields[key] for key in fields if key not in ("apiVersion", "kind")}
            head += ["    @property", "    def apiVersion(self) -> _str: ..."]
        return (
            "\n".join(
                [*head, *self._init(fields, required, is_kind), *self._read(fields, required)]
            )
            + "\n"
        )

    def _init(self, fields: dict[str, Any], required: set[str], is_kind: bool) -> list[str]:
        parameters = []
        for field in sorted(fields, key=lambda field: field not in required):
            if (name := _attribute(field)) is not None:
                kind = self._written(fields[field])
                is_required = field in required and not is_kind
                parameters.append(f"{name}: {kind}" + ("" if is_required else " | None = ..."))
        return [f"    def __init__(self, *, {', '.join(parameters)}) -> None: ..."]

    def _read(self, fields: dict[str, Any], required: set[str]) -> Iterator[str]:
        for field, schema in fields.items():
            name = _attribute(field)
            if name is None or field in _BY_KEY:
                continue
            kind = self._read_type(schema)
            # What has a default in the published schema is no pointer in Go: it is always sent.
            is_there = field in required or "default" in schema
            yield "    @property"
            read = kind if is_there or kind == "_Any" else f"{kind} | None"
            yield f"    def {name}(self) -> {read}: ..."

    def _read_type(self, schema: dict[str, Any]) -> str:
        if target := _target(schema):
            return self._named(target) or "_str"
        if isinstance(element := schema.get("items"), dict):
            return f"_List[{self._read_type(element)}]"
        if isinstance(element := schema.get("additionalProperties"), dict):
            return f"_Mapping[_str, {self._read_type(element)}]"
        return _SCALARS.get(schema.get("type", ""), "_Any")

    def _written(self, schema: dict[str, Any]) -> str:
        """A plain dict is as good as the class."""
        if target := _target(schema):
            named = self._named(target)
            if target == _QUANTITY:
                return "_str | _int | _float"
            has_fields = bool(self._definitions[target].get("properties"))
            return f"{named} | dict[_str, _Any]" if has_fields else named
        if isinstance(element := schema.get("items"), dict):
            return f"_Sequence[{self._written(element)}]"
        if isinstance(element := schema.get("additionalProperties"), dict):
            return f"_Mapping[_str, {self._written(element)}]"
        return _SCALARS.get(schema.get("type", ""), "_Any")

    def _named(self, target: str) -> str:
        if target == _QUANTITY or target in _TEXTS:
            return "_str"
        if target == _INT_OR_STRING:
            return "_int | _str"
        module, _, name = _type_name(target).rpartition(".")
        if not self._definitions[target].get("properties") or module not in self._modules:
            return "_Any"
        return name if module == self._module else f"{module}.{name}"


def _attribute(field: str) -> str | None:
    """How Python spells a field; None if it cannot (``x-kubernetes-…``)."""
    if keyword.iskeyword(field):
        return f"{field}_"
    return field if field.isidentifier() else None


def _resources(table: str) -> dict[str, list[tuple[str, str]]]:
    """Plural and kind of every resource, by module."""
    found: dict[str, list[tuple[str, str]]] = {}
    module = ""
    for line in table.split("\n"):
        if line.startswith(" "):
            plural, kind, *_ = line.split()
            found[module].append((plural, kind))
        elif line:
            group, _, version = line.rpartition("/")
            module = f"{group.partition('.')[0] or 'core'}_{version}"
            found[module] = []
    return found


def _groups(resources: dict[str, list[tuple[str, str]]], imports: tuple[str, ...]) -> str:
    lines = [f"# {_MADE}", "from proreus.api.kinds import " + ", ".join(resources), *imports]
    for module, listed in resources.items():
        lines += ["", f"class {_class_name(module)}(GroupClient):"]
        for plural, kind in listed:
            lines += [
                "    @property",
                f"    def {plural}(self) -> ResourceClient[{module}.{kind}]: ...",
            ]
    lines += ["", "class BuiltinGroups:"]
    for module in resources:
        lines += ["    @property", f"    def {module}(self) -> {_class_name(module)}: ..."]
    return "\n".join(lines) + "\n"


def _class_name(module: str) -> str:
    return "".join(part.capitalize() for part in module.split("_"))
