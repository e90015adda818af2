"""How much larger than its text a decoded value may become.

An empty object takes two or three bytes on the wire and a hundred in memory, and a garbage
collector looks at each of them. So a text may hold only so many objects and lists: far more than
any object that fits into storage has, unless it was made to have them.
"""

from __future__ import annotations

CONTAINERS_MAX = 100_000


class TooManyContainers(ValueError):
    """A text that holds more objects and lists than are decoded."""

    def __init__(self) -> None:
        super().__init__(f"more than {CONTAINERS_MAX} objects and lists")


class Budget:
    """What is left while one text is decoded. Raises TooManyContainers when nothing is."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = CONTAINERS_MAX

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise TooManyContainers


def check_json(text: bytes) -> None:
    """Raises TooManyContainers. What is within strings, or is never closed, does not count."""
    if len(text) <= CONTAINERS_MAX or _brackets(text) <= CONTAINERS_MAX:
        return
    outside = text.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]
    if _brackets(b"".join(outside)) > CONTAINERS_MAX:
        raise TooManyContainers


def _brackets(text: bytes) -> int:
    return text.count(b"}") + text.count(b"]")
