"""One served version of a kind whose versions a webhook converts (``resource.versions``).

An object is converted when it is first needed in this version, once for all: what came out is
kept for that state of the object, up to a number of bytes. It is brought up to date in the version
it was written in (pruned, defaulted), converted, and pruned by the schema of this version.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from proreus.api.group_version import GroupKind, GroupVersion
from proreus.api.json_types import JsonObject
from proreus.api.patch.ownership import NeedsConversion
from proreus.api.status import Expired, PlainError, ResourceVersionTooLarge
from proreus.api.wire import json, splice
from proreus.lazy_dataclass import dataclass
from proreus.server.custom.conversion.converted_watch import (
    ConversionQueue,
    ConvertedFrames,
    ConvertedSink,
)
from proreus.server.custom.conversion.owners import renew_owners
from proreus.server.custom.conversion.selected_watch import SelectedEvents
from proreus.server.custom.schema.default import default_stored
from proreus.server.custom.schema.prune import prune
from proreus.server.custom.schema.structural import Structural
from proreus.server.watch_cache.cache import WatchCache
from proreus.server.watch_cache.object import CachedObject, EncodedObject
from proreus.server.watch_cache.query import Exact, ListQuery, ListResult, Selection, WatchQuery
from proreus.server.watch_cache.selecting import Matches, matcher
from proreus.server.watch_cache.subscriber import Subscriber
from proreus.server.watch_cache.view import EncodingView, Sink

KEPT_BYTES_MAX = 16 * 1024 * 1024
_ANSWERS_MAX = 64
ReadFields = Callable[[Mapping[str, Any]], Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedKind:
    """What all versions of a kind share. ``call`` is the webhook: objects, wanted apiVersion."""

    kind: GroupKind
    schemas: Mapping[str, Structural]
    stored_version: str
    first_version: str  # of objects whose bytes do not say
    refresh_before: int
    call: Callable[[Sequence[JsonObject], str], Awaitable[list[JsonObject]]]
    start: Callable[[Coroutine[Any, Any, None]], None]

    def api_version(self, version: str) -> str:
        return f"{self.kind.group}/{version}"


class WebhookVersions:
    """Implements ``resource.versions.Versions``."""

    def __init__(self, version: str, kind: ConvertedKind, read: ReadFields) -> None:
        """``read``: the values of the fields this version selects by."""
        self._version = version
        self._kind = kind
        self._read = read
        self._kept = Kept(KEPT_BYTES_MAX)
        self._answers: dict[tuple[str, bytes], JsonObject] = {}
        self._feed = ConversionQueue(self._converted_objects, kind.start)

    def written_in(self, version: str) -> str:
        return self._kind.api_version(version or self._kind.first_version)

    async def served(self, obj: EncodedObject, *, remembers: bool = True) -> EncodedObject:
        if not self._needs(obj):
            return obj
        if remembers and (kept := self._kept.get(obj)) is not None:
            return kept
        (made,) = await self._converted_objects((obj,), remembers=remembers)
        return made

    async def _served(self, objects: Sequence[CachedObject]) -> list[CachedObject]:
        """The same objects in this version, by one call for all that need it."""
        found = [self.known(obj) for obj in objects]
        missing = [obj for obj, have in zip(objects, found, strict=True) if have is None]
        if not missing:
            return [obj for obj in found if obj is not None]
        fresh = iter(await self._converted_objects(missing))
        return [next(fresh) if have is None else have for have in found]

    async def to_stored(self, obj: JsonObject) -> JsonObject:
        wanted = self._kind.stored_version
        (stored,) = await self._converted([obj], wanted)
        return stored

    def converted_nowait(self, obj: JsonObject, api_version: str) -> JsonObject | NeedsConversion:
        found = self._answers.get(self._question(obj, api_version))
        return NeedsConversion(obj, api_version) if found is None else found

    async def converted(self, obj: JsonObject, api_version: str) -> JsonObject:
        question = self._question(obj, api_version)
        found = self._answers.get(question)
        if found is None:
            # What apply works on may lack the head that conversion goes by.
            head = {"kind": self._kind.kind.kind, "apiVersion": self.written_in(self._version)}
            version = GroupVersion.parse(api_version).version
            (found,) = await self._converted([{**head, **obj}], version)
            if len(self._answers) >= _ANSWERS_MAX:
                self._answers.clear()
            self._answers[question] = found
        return found

    def _question(self, obj: JsonObject, api_version: str) -> tuple[str, bytes]:
        """Raises KeyError for an unknown version."""
        if GroupVersion.parse(api_version).version not in self._kind.schemas:
            raise KeyError(api_version)
        return api_version, json.encode(obj)

    async def listing(self, cache: WatchCache, query: ListQuery) -> ListResult:
        matches = _selector_of(query.selection)
        if matches is not None:
            query = replace(query, selection=_scope(query.selection))
        listing = await cache.list(query)
        objects = await self._served(listing.objects)
        if matches is None:
            return replace(listing, objects=objects)
        kept = [obj for obj in objects if matches(obj)]
        return replace(listing, objects=kept, remaining=None)

    async def watch(
        self, cache: WatchCache, query: WatchQuery, view: EncodingView, sink: Sink
    ) -> Subscriber:
        matches = _selector_of(query.selection)
        selected = None
        if matches is not None:
            query = replace(query, selection=_scope(query.selection))
            query, present = await self._going_on(cache, query)
            selected = SelectedEvents(matches, present)
        frames = ConvertedFrames(view, self, is_selected=selected is not None)
        stage = ConvertedSink(sink, view, selected)
        subscriber = await cache.watch(query, frames, stage)
        stage.begin(subscriber)
        return subscriber

    async def _going_on(
        self, cache: WatchCache, query: WatchQuery
    ) -> tuple[WatchQuery, Sequence[CachedObject]]:
        """The state a watch goes on from: what matched there is what its client knows."""
        if query.after is None and query.send_initial:
            return query, ()
        state = query.state if query.after is None else Exact(query.after)
        try:
            listing = await cache.list(ListQuery(query.selection, state))
        except (Expired, ResourceVersionTooLarge):
            return query, ()  # the watch says so itself, or waits for what is to come
        return replace(query, after=listing.revision), await self._served(listing.objects)

    def known(self, obj: CachedObject) -> CachedObject | None:
        """The object in this version, if that is known without asking."""
        return self._kept.get(obj) if self._needs(obj) else obj

    @property
    def feed(self) -> ConversionQueue:
        return self._feed

    def _needs(self, obj: EncodedObject) -> bool:
        written = obj.version or self._kind.first_version
        return written != self._version or obj.revision <= self._kind.refresh_before

    async def _converted_objects(
        self, objects: Sequence[EncodedObject], *, remembers: bool = True
    ) -> list[CachedObject]:
        decoded = [self._decoded(obj) for obj in objects]
        found = await self._converted(decoded, self._version)
        made = [self._made(obj, new) for obj, new in zip(objects, found, strict=True)]
        if remembers:
            for obj, new_obj in zip(objects, made, strict=True):
                self._kept.put(obj, new_obj)
        return made

    def _made(self, obj: EncodedObject, new: JsonObject) -> CachedObject:
        namespace, _, name = obj.key.rpartition("/")
        return CachedObject(
            obj.key,
            obj.revision,
            splice.item_from_object(new),
            self._version,
            namespace=namespace,
            name=name,
            labels=new["metadata"].get("labels") or {},
            fields={"metadata.name": name, "metadata.namespace": namespace, **self._read(new)},
        )

    def _decoded(self, obj: EncodedObject) -> JsonObject:
        kind = self._kind
        version = obj.version or kind.first_version
        value = splice.decode_item(obj.item)
        decoded = {"kind": kind.kind.kind, "apiVersion": kind.api_version(version), **value}
        schema = kind.schemas.get(version)
        if schema is not None and obj.revision <= kind.refresh_before:
            prune(decoded, schema)
            default_stored(decoded, schema)
            renew_owners(decoded, kind.schemas)
        return decoded

    async def _converted(self, objects: list[JsonObject], version: str) -> list[JsonObject]:
        wanted = self._kind.api_version(version)
        others = [obj for obj in objects if obj["apiVersion"] != wanted]
        if not others:
            return objects
        for obj in others:
            if GroupVersion.parse(obj["apiVersion"]).version not in self._kind.schemas:
                raise PlainError(
                    f"request to convert CR from an invalid group/version: {obj['apiVersion']}"
                )
        made = iter(await self._kind.call(others, wanted))
        result = [next(made) if obj["apiVersion"] != wanted else obj for obj in objects]
        for obj in result:
            prune(obj, self._kind.schemas[version])
        return result

    def __repr__(self) -> str:
        return f"<WebhookVersions {self._kind.kind} as {self._version}, {self._kept!r}>"


class Kept:
    """Converted objects by what they were made of, the least used forgotten first."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._objects: OrderedDict[_State, CachedObject] = OrderedDict()

    def get(self, obj: EncodedObject) -> CachedObject | None:
        state = _state(obj)
        found = self._objects.get(state)
        if found is not None:
            self._objects.move_to_end(state)
        return found

    def put(self, obj: EncodedObject, made: CachedObject) -> None:
        state = _state(obj)
        before = self._objects.pop(state, None)
        self._bytes += len(made.item) - (len(before.item) if before is not None else 0)
        self._objects[state] = made
        while self._bytes > self._bytes_max:
            _, gone = self._objects.popitem(last=False)
            self._bytes -= len(gone.item)

    def __repr__(self) -> str:
        return f"{len(self._objects)} objects kept, {self._bytes} B"


_State = tuple[str, int, int]


def _state(obj: EncodedObject) -> _State:
    """Revisions alone may repeat: a store can be set back to an older state."""
    return obj.key, obj.revision, hash(obj.item)


def _selector_of(selection: Selection) -> Matches | None:
    """The test that only the converted object can pass or fail; None if there is none."""
    fields = (requirement.field for requirement in selection.fields.requirements)
    if selection.labels.is_empty and all(field.startswith("metadata.") for field in fields):
        return None
    return matcher(selection)


def _scope(selection: Selection) -> Selection:
    """What is known of an object in any version: where it is."""
    return Selection(selection.namespace, selection.name)
