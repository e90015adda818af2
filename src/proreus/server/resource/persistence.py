"""Where and how the objects of a resource are kept."""

from __future__ import annotations

from enum import Enum, auto

from proreus.lazy_dataclass import dataclass
from proreus.server.resource.conversion import Conversion


class Unstored(Enum):
    """What answers for a kind that has no objects of its own."""

    REVIEW = auto()
    BINDING = auto()
    COMPONENT_STATUS = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Persistence:
    """The defaults: below /registry/<plural>/, in the served group and version, for ever."""

    prefix: str = ""  # below /registry/ (server.md §3.1)
    version: str = ""
    group: str | None = None
    conversion: Conversion | None = None  # from and to another version or group
    ttl_s: float | None = None
    cached: bool = True  # events are served without a watch cache
