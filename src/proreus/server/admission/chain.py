"""Plugins in order. The mutating half sees and may change an object before its kind's rules.

Cost: a call per plugin. Only one that has to wait, for storage or a cache, costs a coroutine.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from proreus.server.registry.write import Admission, Admit, Attributes


def chain(*, mutating: Sequence[Admit] = (), validating: Sequence[Admit] = ()) -> Admission:
    return Admission(_in_order(tuple(mutating)), _in_order(tuple(validating)))


def _in_order(plugins: tuple[Admit, ...]) -> Admit:
    def admit(attributes: Attributes) -> Awaitable[None] | None:
        for index, plugin in enumerate(plugins):
            if (pending := plugin(attributes)) is not None:
                return _waiting(pending, plugins[index + 1 :], attributes)
        return None

    return admit


async def _waiting(
    pending: Awaitable[None], rest: tuple[Admit, ...], attributes: Attributes
) -> None:
    await pending
    for plugin in rest:
        if (pending_next := plugin(attributes)) is not None:
            await pending_next
