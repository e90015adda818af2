"""One write on its way through a verb: who writes, and under which options."""

from __future__ import annotations

import msgspec

from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.wire.options import DeleteOptions, WriteOptions
from proreus.server.offload import INLINE, Runner
from proreus.server.registry.admission import Admission, Annotate, Attributes, GiveBack, add_warning
from proreus.server.registry.collection import Collection
from proreus.server.registry.user import SYSTEM, User

_LARGE_BYTES = 256 * 1024


class Write(msgspec.Struct, kw_only=True):
    """The circumstances of one write; ``warnings`` fills up on the way.

    What only computes runs in ``runner``: on the loop, or in ``large_runner`` if the object is
    large, since it would hold up every other request.
    """

    collection: Collection
    namespace: str
    name: str
    user: User
    now: float
    field_manager: str
    admission: Admission
    subresource: str = ""
    is_of_collection: bool = False  # the request names the collection, not the object
    dry_run: bool = False
    field_validation: str = ""  # Strict, Warn or "" (warn), Ignore
    force: bool = False  # apply takes over fields of other managers
    options: WriteOptions | None = None
    warnings: list[str] = msgspec.field(default_factory=list)
    annotate: Annotate | None = None
    annotate_bodies: Annotate | None = None
    runner: Runner = INLINE
    large_runner: Runner = INLINE
    give_back: GiveBack | None = None  # what was allocated to an object that is not stored yet

    @classmethod
    def of_server(
        cls,
        collection: Collection,
        namespace: str,
        name: str,
        now: float,
        field_manager: str = "proreus",
    ) -> Write:
        """Of an object that the server itself needs: no admission plugin is asked."""
        return cls(
            collection=collection,
            namespace=namespace,
            name=name,
            user=SYSTEM,
            now=now,
            field_manager=field_manager,
            admission=Admission(),
        )

    def note_size(self, size: int) -> None:
        """Called when the stored object is known: it may be large although the body is not."""
        if size > _LARGE_BYTES:
            self.runner = self.large_runner

    def warn(self, text: str) -> None:
        add_warning(self.warnings, text)

    async def allocate(self, attributes: Attributes) -> None:
        """Give the object what is unique in the cluster: addresses, ports."""
        if (allocate := self.collection.allocate) is not None:
            self.give_back = await allocate(attributes)

    async def release(self) -> None:
        """Give back what an object was allocated that will not be stored."""
        if (give_back := self.give_back) is not None:
            self.give_back = None
            await give_back()

    def attributes(
        self,
        operation: str,
        obj: JsonObject | None,
        old: JsonObject | None,
        *,
        options: DeleteOptions | None = None,
        kind: GroupVersionKind | None = None,
        name: str = "",
    ) -> Attributes:
        """``name`` where the write has none yet: the prefix a name will be made from."""
        return Attributes(
            operation=operation,
            resource=self.collection.resource,
            kind=kind or self.collection.resource.gvk,
            subresource=self.subresource,
            namespace=self.namespace,
            name="" if self.is_of_collection else name or self.name,
            user=self.user,
            dry_run=self.dry_run,
            path_name=self.name,
            obj=obj,
            old=old,
            options=options or self.options,
            warnings=self.warnings,
            annotate=self.annotate,
            annotate_bodies=self.annotate_bodies,
        )
