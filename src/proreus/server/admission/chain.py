"""Plugins in order. The mutating half sees and may change an object before its kind's rules."""

from __future__ import annotations

from collections.abc import Sequence

from proreus.server.registry.write import Admission, Admit, Attributes


def chain(*, mutating: Sequence[Admit] = (), validating: Sequence[Admit] = ()) -> Admission:
    return Admission(_in_order(tuple(mutating)), _in_order(tuple(validating)))


def _in_order(plugins: tuple[Admit, ...]) -> Admit:
    async def admit(attributes: Attributes) -> None:
        for plugin in plugins:
            await plugin(attributes)

    return admit
