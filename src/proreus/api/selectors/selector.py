"""What selectors of labels and of fields have in common: they are values made of requirements."""

from __future__ import annotations

from typing import Generic, TypeVar

R = TypeVar("R")


class Selector(Generic[R]):
    """All requirements must hold; none means everything. Comparable and hashable."""

    __slots__ = ("requirements",)

    requirements: tuple[R, ...]

    @property
    def is_empty(self) -> bool:
        return not self.requirements

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return False
        return self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self or 'everything'}>"
