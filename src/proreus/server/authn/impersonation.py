"""Acting as someone else, which must itself be allowed (Impersonate-* headers)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from proreus.api.status import InternalError
from proreus.server.registry.user import (
    ANONYMOUS_NAME,
    AUTHENTICATED,
    UNAUTHENTICATED,
    User,
)

_EXTRA = "impersonate-extra-"
IMPERSONATION_HEADERS = ("Impersonate-User", "Impersonate-Group", "Impersonate-Uid")
_SERVICE_ACCOUNT = "system:serviceaccount:"


def impersonated(headers: Iterable[tuple[str, str]]) -> User | None:
    """Whom the headers ask to act as, None if they do not. Raises InternalError."""
    found = [
        (name.lower(), _text(value))
        for name, value in headers
        if name[:11].lower() == "impersonate"
    ]
    if not found:
        return None
    names = [value for key, value in found if key == "impersonate-user"]
    groups = [value for key, value in found if key == "impersonate-group"]
    uids = [value for key, value in found if key == "impersonate-uid"]
    extra: dict[str, tuple[str, ...]] = {}
    for key, value in found:
        if key.startswith(_EXTRA):
            field = unquote(key.removeprefix(_EXTRA))
            extra[field] = (*extra.get(field, ()), value)
    if not names or not names[0]:
        raise InternalError.of(f"requested {[*groups, *uids, *extra]} without impersonating a user")
    name = names[0]
    return User(name, tuple(_with_standing(name, groups)), uids[0] if uids else "", extra)


def _text(value: str) -> str:
    """Bytes that are no text arrive as lone surrogates, which no answer could repeat."""
    return value.encode("utf-8", "replace").decode()


def _with_standing(name: str, groups: list[str]) -> Iterator[str]:
    """Everybody but anonymous is authenticated; service accounts are in their groups."""
    if not groups and name.startswith(_SERVICE_ACCOUNT):
        namespace = name.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    yield from groups
    if name == ANONYMOUS_NAME:
        if UNAUTHENTICATED not in groups:
            yield UNAUTHENTICATED
    elif AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        yield AUTHENTICATED
