"""Which requests without credentials are let in, as ``system:anonymous``."""

from __future__ import annotations

from proreus.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Anonymous:
    """``paths``: only these, to the letter; None: any."""

    enabled: bool = True
    paths: frozenset[str] | None = None

    def includes(self, path: str) -> bool:
        return self.enabled and (self.paths is None or path in self.paths)
