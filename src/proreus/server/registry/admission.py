"""Admission of a write: plugins, each with a mutating half, a validating half or both.

A verb runs the mutating halves on the object as the client wants it, then the kind's rules, then
the validating halves on the object as it will be stored. What is allocated to it in between is
given back if one of them refuses.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any

import msgspec

from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import Json, JsonObject
from proreus.api.status import Forbidden
from proreus.api.wire.options import DeleteOptions, WriteOptions
from proreus.lazy_dataclass import dataclass
from proreus.server.registry.admission_step import AdmissionStep, Admit
from proreus.server.registry.user import User
from proreus.server.resource import Resource

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"
_COLLECTED = frozenset({"ownerReferences", "finalizers", "managedFields"})
_WARNINGS_MAX = 512
Annotate = Callable[[str, str], None]  # key, value


def add_warning(warnings: list[str], text: str) -> None:
    if len(warnings) < _WARNINGS_MAX and text not in warnings:
        warnings.append(text)


class Attributes(msgspec.Struct, kw_only=True):
    """What admission is asked about. ``obj`` may be changed by the mutating half.

    ``kind`` is that of ``obj``: another than the resource's for a Scale, a Binding, or what is
    asked of a connection. ``obj`` and ``old`` are in the version that is stored. ``path_name``: the
    name in the request's path, "" where an object is created by POST. Of an object that is deleted
    with its collection ``name`` is "". ``options``: what the request asks for besides, None for a
    connection. ``has_server_fields``: whether an update came with what the server sets, as the uid.
    """

    operation: str
    resource: Resource
    kind: GroupVersionKind
    subresource: str
    namespace: str
    name: str
    user: User
    dry_run: bool
    path_name: str = ""
    has_server_fields: bool = True
    obj: JsonObject | None = None
    old: JsonObject | None = None
    options: WriteOptions | DeleteOptions | None = None
    warnings: list[str] = msgspec.field(default_factory=list)
    annotate: Annotate | None = None  # in the audit event; None: the request is not recorded
    annotate_bodies: Annotate | None = None  # the same, with what is in bodies; None: those are not
    # A mutating plugin sets it to have all of them run once more, after others changed the object.
    wants_reinvocation: bool = False
    is_reinvocation: bool = False
    memory: dict[str, Any] = msgspec.field(default_factory=dict)  # a plugin's, by its name

    def warn(self, text: str) -> None:
        add_warning(self.warnings, text)

    @property
    def known_name(self) -> str:
        """Empty where it is still to be generated; ``name`` is then what it begins with."""
        if self.operation != CREATE or self.path_name or self.obj is None:
            return self.name
        return (self.obj.get("metadata") or {}).get("name") or ""

    def forbidden(self, why: str) -> Forbidden:
        """The refusal of a plugin."""
        return Forbidden.of(self.resource.group_resource, self.name or "Unknown", why)

    def is_of(self, operation: str, group: str, plural: str, subresource: str = "") -> bool:
        return (
            self.operation == operation
            and self.resource.plural == plural
            and self.resource.group == group
            and self.subresource == subresource
        )

    @property
    def changes_only_collected(self) -> bool:
        """Whether an update changes nothing but what the garbage collector needs to change."""
        if self.operation != UPDATE or self.obj is None or self.old is None:
            return False
        return _compared(self.obj) == _compared(self.old)


def _compared(obj: Json) -> dict[str, object]:
    """What counts, with empty and absent values alike."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _COLLECTED}
    return {
        **{key: value for key, value in obj.items() if value},
        "metadata": {key: value for key, value in metadata.items() if value},
    }


@dataclass(frozen=True, slots=True)
class Admission:
    """Halves of plugins in order: the mutating ones run before the kind's rules, the others after.

    ``registry``: what the registry does when no plugin changes the object any more, and what needs
    its user: rights over a role's rules, who asks for a certificate; by API group, as most writes
    are of none of them. ``creation``: what it asks then of creates that name their object in the
    path, as apply. ``before_validation``: what it asks last, by API group as well. All refuse by
    raising.
    """

    mutating: AdmissionStep | None = None
    registry: Mapping[str, tuple[Admit, ...]] = field(default_factory=dict)
    creation: tuple[Admit, ...] = ()
    before_validation: Mapping[str, tuple[Admit, ...]] = field(default_factory=dict)
    validating: AdmissionStep | None = None

    def is_configured_for_updates(self, resource: Resource, subresource: str) -> bool:
        """Whether webhooks or policies of users want to see updates before they are completed."""
        mutating = self.mutating
        return mutating is not None and mutating.is_configured_for(UPDATE, resource, subresource)

    async def mutate(self, attributes: Attributes) -> None:
        if self.mutating is not None:
            await self.mutating.run(attributes)
            if attributes.wants_reinvocation:
                attributes.is_reinvocation = True
                await self.mutating.run(attributes)
        if (asked := self.registry.get(attributes.resource.group)) is not None:
            await _ask(asked, attributes)

    async def validate(self, attributes: Attributes) -> None:
        if attributes.path_name and attributes.operation == CREATE:
            await _ask(self.creation, attributes)
        if (asked := self.before_validation.get(attributes.resource.group)) is not None:
            await _ask(asked, attributes)
        if self.validating is not None:
            await self.validating.run(attributes)

    def choose_anew(self) -> None:
        """A plugin has become idle, or is no longer."""
        for step in (self.mutating, self.validating):
            if step is not None:
                step.choose_anew()

    async def admit(self, attributes: Attributes) -> None:
        """Both halves, where no rules of a kind come in between."""
        await self.mutate(attributes)
        await self.validate(attributes)


async def _ask(admits: tuple[Admit, ...], attributes: Attributes) -> None:
    for admit in admits:
        if (pending := admit(attributes)) is not None:
            await pending


# Gives an object what is unique in the cluster; returns what takes it back.
GiveBack = Callable[[], Awaitable[None]]
Allocate = Callable[[Attributes], Awaitable[GiveBack]]
# Takes back what a stored object had: its key, its bytes, and what took their place (None: it is
# removed). The write has happened, so it does not fail.
Release = Callable[[str, bytes, bytes | None], Awaitable[None]]
