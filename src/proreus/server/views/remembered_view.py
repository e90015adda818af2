"""Objects of a view in another format, each version encoded once.

All that is sent of an object is its encoding behind a head: an event, an answer, an item of a list.
So watches, reads and lists share it. Tables are no such view: they say how old objects are.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

from proreus.api.group_version import GroupVersionKind
from proreus.server.views.remembered_encodings import Place, RememberedEncodings
from proreus.server.views.response import ResponseView
from proreus.server.views.transcoded_view import TranscodedView
from proreus.server.watch_cache.object import EncodedObject
from proreus.server.watch_cache.view import DELETED

# The JSON of an object that is encoded on the loop, in some ten milliseconds at most.
AT_ONCE_BYTES = 128 * 1024


class ObjectView(ResponseView, Protocol):
    """A view of JSON whose objects depend on nothing but their stored bytes."""

    @property
    def gvk(self) -> GroupVersionKind: ...

    @property
    def items_have_kind(self) -> bool:
        """Whether objects in a list say their kind."""
        ...

    def embedded(self, obj: EncodedObject) -> bytes: ...


class RememberedView(TranscodedView):
    __slots__ = ("_encodings", "_objects", "_place", "gvk")

    def __init__(self, view: ObjectView, encodings: RememberedEncodings) -> None:
        super().__init__(view)
        self.gvk = view.gvk
        self._objects = view
        self._encodings = encodings
        self._place = Place()

    @abstractmethod
    def encode(self, source: bytes) -> bytes:
        """What is remembered of an object, from its JSON."""

    @abstractmethod
    def enclosed(self, event_type: str, encoding: bytes) -> bytes:
        """An encoding as the frame of an event."""

    @abstractmethod
    def document(self, encoding: bytes) -> bytes:
        """An encoding as an answer."""

    def encoding(self, obj: EncodedObject, *, is_kept: bool = True) -> bytes:
        """From any thread."""
        found = self._encodings.find(self._place, obj)
        if found is None:
            found = self.encode(self._objects.embedded(obj))
            if is_kept:
                self._encodings.add(self._place, obj, found)
        return found

    def object(self, obj: EncodedObject) -> bytes:
        return self.document(self.encoding(obj))

    def event(self, event_type: str, obj: EncodedObject) -> bytes:
        if event_type == DELETED:
            self._encodings.forget(self._place, obj)
            return self.enclosed(event_type, self.encoding(obj, is_kept=False))
        return self.enclosed(event_type, self.encoding(obj))

    first_event = event

    def takes_long(self, obj: EncodedObject) -> bool:
        """Whether it is to be encoded elsewhere than on the loop."""
        is_long = len(obj.item) > AT_ONCE_BYTES
        return is_long and self._encodings.find(self._place, obj) is None

    @property
    def list_bytes_max(self) -> int:
        """How much of a list is remembered: not so much that it alone takes all the room."""
        return self._encodings.half_bytes
