"""How much a simulated script may write down before it is taken for one that is not understood."""

from __future__ import annotations

from dataclasses import dataclass

from proreus.cluster.kubelet.runtimes.simulated.shell_syntax import UnsupportedSyntax

_CHARACTERS_MAX = 4 * 1024 * 1024


@dataclass(slots=True)
class ScriptBudget:
    """What a script may still write down, in all: one that doubles a variable again and again is
    short, and would fill the memory of its node."""

    left: int = _CHARACTERS_MAX

    def spend(self, characters: int) -> None:
        self.left -= characters
        if self.left < 0:
            raise UnsupportedSyntax
