"""What the server does to an object's metadata whatever its kind (server.md §6.1, §6.2, §6.4).

Pure: every function changes only the object it is given.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from typing import Any

from proreus.api.json_types import JsonObject
from proreus.api.status import BadRequest
from proreus.api.values.timestamp import format_time, parse_time
from proreus.api.wire import json

_SYSTEM_FIELDS = frozenset(
    {"creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}
)
_NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_GENERATED_SUFFIX = 5
_GENERATED_MAX = 63
_UIDS_PER_FETCH = 64
_SERVER_FIELDS = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"
)  # fmt: skip
_NOT_CONTENT = frozenset({"metadata", "status", "kind", "apiVersion"})
_NOWHERE: Any = object()


def ensure(obj: JsonObject) -> dict[str, Any]:
    """The metadata of a body's object, made if there is none; after that every object has some."""
    found = obj.get("metadata")
    if not isinstance(found, dict):
        found = obj["metadata"] = {}
    return found


def check_namespace(obj: JsonObject, namespace: str) -> None:
    """The object names the path's namespace or none. Raises BadRequest."""
    given = ensure(obj).get("namespace")
    if given and given != namespace:
        raise BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def wipe_system_fields(obj: JsonObject) -> None:
    """On create a client cannot choose these."""
    metadata = obj["metadata"]
    for name in _SYSTEM_FIELDS.intersection(metadata):
        del metadata[name]


def fill_system_fields(obj: JsonObject, now: float) -> None:
    metadata = obj["metadata"]
    metadata["uid"] = new_uid()
    metadata["creationTimestamp"] = format_time(now)


class _RandomDigits:
    """The kernel's, fetched for many uids together: one fetch costs more than making a uid."""

    def __init__(self) -> None:
        self._digits = ""
        self._at = 0
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)  # two processes must not give the same

    def _forget(self) -> None:
        self._digits, self._at = "", 0

    def take(self) -> str:
        """32 hexadecimal digits."""
        start = self._at
        if start == len(self._digits):
            self._digits, start = os.urandom(16 * _UIDS_PER_FETCH).hex(), 0
        self._at = start + 32
        return self._digits[start : start + 32]


_random_digits = _RandomDigits()


def new_uid() -> str:
    """A random uuid, formatted here: the class for it costs more than the randomness."""
    digits = _random_digits.take()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def generate_name(prefix: str) -> str:
    suffix = "".join(random.choices(_NAME_ALPHABET, k=_GENERATED_SUFFIX))
    return prefix[: _GENERATED_MAX - _GENERATED_SUFFIX] + suffix


def keep_server_fields(obj: JsonObject, old: Mapping[str, Any]) -> bool:
    """On update the server's own fields stay; a missing uid means "the one that is there".

    A deletion cannot be taken back; one that is not under way is left to validation. Returns
    whether the object came with all of them as they are.
    """
    new, before = obj["metadata"], old["metadata"]
    came = list(map(new.get, _SERVER_FIELDS)) == list(map(before.get, _SERVER_FIELDS))
    if not new.get("uid"):
        _restore(new, before, "uid")
    if before.get("creationTimestamp"):
        new["creationTimestamp"] = before["creationTimestamp"]
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        if before.get(name) is not None:
            new[name] = before[name]
    new.pop("selfLink", None)
    _restore(new, before, "generation")
    return came


def share_owners(obj: JsonObject, of: Mapping[str, Any]) -> None:
    """Give ``obj`` the managed fields of another object, or none."""
    _restore(obj["metadata"], of["metadata"], "managedFields")


def spec_changed(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Anything but metadata and status."""
    for key in new.keys() | old.keys():
        if key not in _NOT_CONTENT and new.get(key, _NOWHERE) != old.get(key, _NOWHERE):
            return True
    return False


def is_deleting(obj: Mapping[str, Any]) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def mark_deleting(obj: JsonObject, now: float, grace_s: int = 0) -> None:
    """Begin a deletion that something still holds up; the first mark counts as a change."""
    metadata = obj["metadata"]
    if not metadata.get("deletionTimestamp"):
        raise_generation(obj)
    marked = metadata.get("deletionTimestamp")
    if not marked or parse_time(marked) > now:
        metadata["deletionTimestamp"] = format_time(now + grace_s)
    metadata["deletionGracePeriodSeconds"] = grace_s


def raise_generation(obj: JsonObject) -> None:
    metadata = obj["metadata"]
    if metadata.get("generation"):
        metadata["generation"] += 1


def set_finalizers(obj: JsonObject, finalizers: list[str]) -> None:
    if finalizers:
        obj["metadata"]["finalizers"] = finalizers
    else:
        obj["metadata"].pop("finalizers", None)


def goes_with_last_finalizer(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """This update ends a deletion: nothing holds the object any more."""
    return (
        is_deleting(old)
        and not new["metadata"].get("finalizers")
        and not old["metadata"].get("deletionGracePeriodSeconds")
    )


def without_resource_version(obj: JsonObject) -> None:
    obj["metadata"].pop("resourceVersion", None)


def unique_owner_references(obj: JsonObject) -> list[str]:
    """Drop exact duplicates; returns their uids."""
    owners = obj["metadata"].get("ownerReferences")
    if not owners or len(owners) < 2:
        return []
    kept: dict[bytes, Any] = {}
    doubled: dict[str, None] = {}
    for owner in owners:
        known = json.canonical(owner)
        if known in kept:
            doubled[owner.get("uid") or ""] = None
        else:
            kept[known] = owner
    obj["metadata"]["ownerReferences"] = list(kept.values())
    return sorted(doubled)


def _restore(new: dict[str, Any], before: Mapping[str, Any], name: str) -> None:
    if name in before:
        new[name] = before[name]
    else:
        new.pop(name, None)
