"""A custom resource from a class: its definition, its registration, typed access to its objects.

    @rules(Rule("self.low <= self.high", "low must not exceed high"))
    @dataclass
    class DatabaseSpec:
        engine: Literal["postgres", "mysql"]
        low: int = 1
        high: Annotated[int, checked(maximum=100)] = 10
        ports: Annotated[list[Port], keyed_by("name")] = field(default_factory=list)

    @custom_resource(group="example.com", version="v1", short_names=("db",),
                     columns=(PrinterColumn("Engine", ".spec.engine"),))
    @dataclass
    class Database:
        spec: DatabaseSpec
        status: DatabaseStatus | None = None

    await register(client, Database)
    databases = Typed(client, Database, namespace="default")
    await databases.create("orders", Database(DatabaseSpec("postgres")))

``databases.informer(informers)`` hands out values, too; ``databases.of`` makes one of any object.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack

from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject
from proreus.client.client import Client
from proreus.client.resources.resource_client import ResourceClient
from proreus.client.schema_keywords import SchemaError
from proreus.client.typed_models import is_model
from proreus.client.typed_schema import object_schema
from proreus.client.typed_values import field_names, from_wire, to_wire

if TYPE_CHECKING:  # who uses no informer need not load it
    from proreus.client.informer import SharedInformerFactory
    from proreus.client.typed_informer import TypedInformer

T = TypeVar("T")
_DEFINITIONS = "customresourcedefinitions.v1.apiextensions.k8s.io"
_ATTRIBUTE = "__custom_resource__"


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column of ``kubectl get``; ``type``: string, integer, number, boolean or date."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False

    def to_wire(self) -> JsonObject:
        rendered: JsonObject = {"name": self.name, "type": self.type, "jsonPath": self.path}
        return {**rendered, "priority": 1} if self.wide else rendered


@dataclass(frozen=True, slots=True)
class Scale:
    """Where ``kubectl scale`` and autoscalers find the numbers."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    label_selector: str = ""

    def to_wire(self) -> dict[str, str]:
        found = {"specReplicasPath": self.spec_replicas, "statusReplicasPath": self.status_replicas}
        return {**found, "labelSelectorPath": self.label_selector} if self.label_selector else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What a class defines. ``manifest`` is the CustomResourceDefinition itself."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: tuple[PrinterColumn, ...] = ()
    scale: Scale | None = None
    status: bool = True  # whether status is written apart from the rest
    schema: Json = field(default_factory=dict)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    @property
    def name(self) -> str:
        return f"{self.plural}.{self.group}"

    @property
    def resource(self) -> str:
        """As ``Client.resource`` and informers take it."""
        return f"{self.plural}.{self.version}.{self.group}"

    def manifest(self) -> JsonObject:
        parts: JsonObject = {"status": {}} if self.status else {}
        if self.scale is not None:
            parts["scale"] = self.scale.to_wire()
        version: JsonObject = {
            "name": self.version,
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": dict(self.schema)},
        }
        if parts:
            version["subresources"] = parts
        if self.columns:
            version["additionalPrinterColumns"] = [one.to_wire() for one in self.columns]
        names: JsonObject = {"kind": self.kind, "plural": self.plural}
        if self.short_names:
            names["shortNames"] = list(self.short_names)
        if self.categories:
            names["categories"] = list(self.categories)
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name},
            "spec": {
                "group": self.group,
                "scope": "Namespaced" if self.namespaced else "Cluster",
                "names": names,
                "versions": [version],
            },
        }


class DefinitionOptions(TypedDict, total=False):
    """What ``custom_resource`` takes beside names: fields of ``Definition``."""

    namespaced: bool
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    columns: tuple[PrinterColumn, ...]
    scale: Scale | None
    status: bool


def custom_resource(
    *,
    group: str,
    version: str,
    kind: str = "",
    plural: str = "",
    **more: Unpack[DefinitionOptions],
) -> Callable[[type[T]], type[T]]:
    """Make a dataclass, or a class of pydantic or msgspec, a custom resource.

    Raises SchemaError for types that have no schema, when the class is made.
    """

    def decorate(cls: type[T]) -> type[T]:
        if not dataclasses.is_dataclass(cls) and not is_model(cls):
            raise SchemaError(
                f"{cls.__name__} is no dataclass: @custom_resource goes above it, or above a class "
                "of pydantic or msgspec"
            )
        named = kind or cls.__name__
        definition = Definition(
            group=group,
            version=version,
            kind=named,
            plural=plural or _plural(named.lower()),
            schema=object_schema(cls),
            **more,
        )
        setattr(cls, _ATTRIBUTE, definition)
        return cls

    return decorate


def is_custom(cls: type[Any]) -> bool:
    """Whether a class was decorated."""
    return _ATTRIBUTE in cls.__dict__


def definition_of(cls: type[Any]) -> Definition:
    found: Definition | None = cls.__dict__.get(_ATTRIBUTE)
    if found is None:
        raise SchemaError(f"{cls.__name__} is no custom resource: decorate it")
    return found


async def register(client: Client, *classes: type[Any], timeout_s: float = 30.0) -> None:
    """Apply the definitions and wait until their kinds are served."""
    definitions = client.resource(_DEFINITIONS)
    for cls in classes:
        await definitions.apply(definition_of(cls).manifest(), force=True)
    for cls in classes:
        await definitions.wait_for(
            definition_of(cls).name, "condition=Established", timeout_s=timeout_s
        )


def parse(cls: type[T], obj: KubeObject | Json) -> T:
    """An object as a value of its class."""
    raw = obj.to_dict() if isinstance(obj, KubeObject) else obj
    value: T = from_wire(cls, raw)
    return value


@dataclass(frozen=True, slots=True)
class Stored(Generic[T]):
    """An object of a typed resource: its value, and the whole as the server has it."""

    value: T
    object: KubeObject

    @property
    def name(self) -> str:
        return self.object.name


class Typed(Generic[T]):
    """The objects of a class in one namespace, or in all; ``raw`` has every verb there is.
    ``namespace`` "" is the context's."""

    def __init__(self, client: Client, cls: type[T], namespace: str = "") -> None:
        self._cls = cls
        self._definition = definition_of(cls)
        found = client.resource(self._definition.resource)
        self.raw: ResourceClient = found.in_namespace(namespace) if namespace else found

    def in_namespace(self, namespace: str) -> Typed[T]:
        """The same in one namespace."""
        return self._with(self.raw.in_namespace(namespace))

    def in_all_namespaces(self) -> Typed[T]:
        """The same everywhere: to list, and for informers. A write must name its namespace."""
        return self._with(self.raw.in_all_namespaces())

    def _with(self, raw: ResourceClient) -> Typed[T]:
        made = copy.copy(self)
        made.raw = raw
        return made

    async def create(self, name: str, value: T) -> Stored[T]:
        return self.of(await self.raw.create(self._object(name, value)))

    async def apply(self, name: str, value: T, *, force: bool = False) -> Stored[T]:
        return self.of(await self.raw.apply(self._object(name, value), force=force))

    async def update(self, stored: Stored[T], value: T) -> Stored[T]:
        """Put a value in place of the one that was read; Conflict if it changed meanwhile."""
        fields = field_names(self._cls)
        kept = {key: item for key, item in stored.object.to_dict().items() if key not in fields}
        return self.of(await self.raw.replace({**kept, **to_wire(value)}))

    async def get(self, name: str) -> Stored[T]:
        return self.of(await self.raw.get(name))

    async def list(self, *, label_selector: str = "") -> list[Stored[T]]:
        found = await self.raw.list(label_selector=label_selector)
        return [self.of(item) for item in found.items]

    async def set_status(self, name: str, status: Any) -> Stored[T]:
        """Put fields of the status in place; others stay."""
        return self.of(await self.raw.patch_status(name, {"status": to_wire(status)}))

    async def delete(self, name: str) -> None:
        await self.raw.delete(name)

    def informer(self, informers: SharedInformerFactory) -> TypedInformer[T]:
        """The informer of these objects; its handlers and its lister have values."""
        from proreus.client.typed_informer import TypedInformer

        namespace = self.raw.namespace if self._definition.namespaced else ""
        found = informers.informer(self._definition.resource, namespace=namespace)
        return TypedInformer(found, self.of)

    def of(self, obj: KubeObject) -> Stored[T]:
        """An object, e.g. from an informer, with its value."""
        return Stored(parse(self._cls, obj), obj)

    def _object(self, name: str, value: T) -> JsonObject:
        return {
            "apiVersion": self._definition.api_version,
            "kind": self._definition.kind,
            "metadata": {"name": name},
            **to_wire(value),
        }

    def __repr__(self) -> str:
        return f"<Typed {self._cls.__name__} of {self.raw!r}>"


def _plural(name: str) -> str:
    if name.endswith(("s", "x", "z", "ch", "sh")):
        return f"{name}es"
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}s"
