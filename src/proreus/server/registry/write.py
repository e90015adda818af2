"""One write on its way through a verb: who, how, and what it became."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import msgspec

from proreus.server.registry.collection import Collection, cached_copy
from proreus.server.registry.resource import Resource
from proreus.server.registry.user import User
from proreus.server.schema.rules import JsonObject
from proreus.server.watch_cache.object import CachedObject

_WARNINGS_MAX = 512
CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


class Attributes(msgspec.Struct, kw_only=True):
    """What admission is asked about. ``obj`` may be changed by the mutating half."""

    operation: str
    resource: Resource
    subresource: str
    namespace: str
    name: str
    user: User
    dry_run: bool
    obj: JsonObject | None = None
    old: JsonObject | None = None
    options: Any = None


# Work on what is longer is done beside the loop: it would keep everybody else waiting.
LONG_BYTES = 256 * 1024

T = TypeVar("T")


class Aside(Protocol):
    """Does a work beside the loop."""

    async def __call__(self, work: Callable[[], T]) -> T: ...


# What has nothing to wait for, which is nearly always, returns None.
Admit = Callable[[Attributes], Awaitable[None] | None]


def admit_all(_: Attributes) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Admission:
    """The mutating half runs before the kind's rules, the other after; both refuse by raising."""

    mutating: Admit = admit_all
    validating: Admit = admit_all

    async def mutate(self, attributes: Attributes) -> None:
        if (pending := self.mutating(attributes)) is not None:
            await pending

    async def validate(self, attributes: Attributes) -> None:
        if (pending := self.validating(attributes)) is not None:
            await pending


class Write(msgspec.Struct, kw_only=True):
    """The circumstances of one write; ``warnings`` fills up on the way.

    ``is_long``: its object is; then its parts that only compute are done ``aside``.
    """

    collection: Collection
    namespace: str
    name: str
    user: User
    now: float
    field_manager: str
    admission: Admission
    subresource: str = ""
    dry_run: bool = False
    warnings: list[str] = msgspec.field(default_factory=list)
    is_long: bool = False
    aside: Aside | None = None

    async def done(self, work: Callable[[], T]) -> T:
        """The outcome of work that nobody else touches meanwhile."""
        if self.is_long and self.aside is not None:
            return await self.aside(work)
        return work()

    def warn(self, text: str) -> None:
        if len(self.warnings) < _WARNINGS_MAX and text not in self.warnings:
            self.warnings.append(text)

    def attributes(
        self,
        operation: str,
        obj: JsonObject | None,
        old: JsonObject | None,
        options: Any = None,
        *,
        name: str = "",
    ) -> Attributes:
        """``name`` where the write has none yet: the prefix a name will be made from."""
        return Attributes(
            operation=operation,
            resource=self.collection.resource,
            subresource=self.subresource,
            namespace=self.namespace,
            name=name or self.name,
            user=self.user,
            dry_run=self.dry_run,
            obj=obj,
            old=old,
            options=options,
        )

    async def shown(self, outcome: Outcome) -> CachedObject:
        """What the writer sees of it: in the version it wrote in."""
        found = outcome.shown()
        versions = self.collection.resource.versions
        if versions is None:
            return found
        return (await versions.served((found,), remembers=False))[0]


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """What a write left behind, as bytes ready to be shown.

    ``revision`` None: nothing was stored (a dry run of a create). ``is_gone``: the object is
    deleted; ``is_created``: it was made by this write.
    """

    key: str
    stored: bytes
    revision: int | None
    is_created: bool = False
    is_gone: bool = False

    def shown(self) -> CachedObject:
        return cached_copy(self.key, self.stored, self.revision)
