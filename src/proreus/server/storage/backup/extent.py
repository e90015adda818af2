"""Which revisions a store or a backup has, and how they change when one takes another's place."""

from __future__ import annotations

from collections.abc import Callable

from proreus.lazy_dataclass import dataclass

# Called now and then with the share that is done, from 0 to 1.
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Extent:
    """``revision`` is the newest; states before ``compacted`` cannot be read any more."""

    revision: int
    compacted: int

    def behind(self, seen: int) -> Extent:
        """Of a store that goes on behind ``seen``, a revision that clients may remember of a state
        that is not this one: nobody resumes from it, or from before."""
        begin = max(self.revision, seen) + 1
        return Extent(begin, begin)


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy has. ``is_resumable``: watches go on from the revisions of its source.

    ``damaged``: keys whose values did not match their checksums before they were copied.
    """

    extent: Extent
    objects: int
    damaged: tuple[str, ...] = ()
    is_resumable: bool = True
