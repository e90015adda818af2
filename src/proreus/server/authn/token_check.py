"""A check of a token, and its result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from proreus.lazy_dataclass import dataclass
from proreus.server.registry.user import User


@dataclass(frozen=True, slots=True)
class Accepted:
    """``audiences``: those of the asked for that the token is meant for."""

    user: User
    audiences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A token of a known kind that is not valid. ``why`` is for reviewers, not for its bearer."""

    why: str


# Of a token, for these audiences. None: it is not of this kind.
TokenCheck = Callable[[str, Sequence[str]], Awaitable[Accepted | Rejected | None]]
UserCheck = Callable[[str], Awaitable[User | Rejected | None]]


def for_audiences(own: Sequence[str], check: UserCheck) -> TokenCheck:
    """Tokens that name no audience are meant for this server, whose audiences are ``own``."""

    async def checked(token: str, audiences: Sequence[str]) -> Accepted | Rejected | None:
        shared = tuple(one for one in own if one in audiences)
        if not shared:
            return None
        found = await check(token)
        return Accepted(found, shared) if isinstance(found, User) else found

    return checked
