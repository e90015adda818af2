"""What the names of images say to a simulated node, which has none. Pure."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

# Tags that nobody gives an image: hyphens and underscores do not count.
_MISSING_TAGS = frozenset(
    {"404", "doesnotexist", "invalid", "missing", "nonexistent", "nonexisting", "nosuchimage",
     "nosuchtag", "notexisting", "notfound"}
)  # fmt: skip


@lru_cache(maxsize=256)  # pods of one owner have the same ones
def says_it_is_missing(image: str) -> bool:
    """By its tag (``web:404``, ``web:non-existent``), or by a registry that can be none."""
    read = _read(image)
    tag = read.tag.lower().replace("-", "").replace("_", "")
    host = read.registry.lower().partition(":")[0]
    return tag in _MISSING_TAGS or "invalid" in host.split(".")


def runs_for_ever(image: str) -> bool:
    """The image that holds a pod's place and does nothing."""
    return _read(image).name == "pause"


class _Image(NamedTuple):
    registry: str
    name: str
    tag: str


def _read(image: str) -> _Image:
    reference = image.partition("@")[0]
    registry, _, path = reference.partition("/")
    if not path or not ("." in registry or ":" in registry):
        registry, path = "", reference
    name, _, tag = path.rpartition("/")[2].partition(":")
    return _Image(registry, name, tag)
