"""The user that makes a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from proreus.lazy_dataclass import dataclass

ANONYMOUS_NAME = "system:anonymous"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"


@dataclass(frozen=True, slots=True)
class User:
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def to_wire(self) -> dict[str, object]:
        """As UserInfo of reviews."""
        info: dict[str, object] = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


def authenticated(groups: Iterable[str]) -> tuple[str, ...]:
    """The groups of an authenticated user: its own, and that of all such users."""
    own = tuple(groups)
    return own if AUTHENTICATED in own else (*own, AUTHENTICATED)


def as_authenticated(user: User) -> User:
    """The user as one that was authenticated, unless it says itself that it was not."""
    groups = user.groups
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups or user.name == ANONYMOUS_NAME:
        return user
    return User(user.name, (*groups, AUTHENTICATED), user.uid, user.extra)


ANONYMOUS = User(ANONYMOUS_NAME, (UNAUTHENTICATED,))
SYSTEM = User("system:apiserver", (MASTERS, AUTHENTICATED))
