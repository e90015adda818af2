"""JSON patch (RFC 6902) as Kubernetes applies it, with the departures of server.md §12.

Invariant: the given document is never changed; operations copy the containers they touch, so a
failing operation leaves nothing behind. Cost: a few µs per operation, independent of the size of
what it does not touch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proreus.api import go_text
from proreus.api.json_types import JsonObject
from proreus.api.patch.errors import MalformedPatch, RejectedPatch, TooManyOperations
from proreus.api.patch.value_text import is_written
from proreus.api.wire import json

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024

# Whose paths the library under Kubernetes writes so in its messages.
_UNQUOTED = ("replace", "move", "copy", "test")
_MEMBERS = ("op", "path", "from", "value")


class FailedTest(RejectedPatch):
    """A value is not what a ``test`` says it is."""


def check_operations(document: Any, *, is_validated: bool = True) -> list[JsonObject]:
    """The operations of a decoded patch body; refuses what is no list of operations.

    ``is_validated`` False (fieldValidation=Ignore): only the library reads them, which looks at
    the members of an operation when it is carried out.
    """
    if document is None:
        return []
    if not isinstance(document, list):
        raise _no_patch(document, "Patch", "[]handlers.jsonPatchOp", is_validated=is_validated)
    for operation in document:
        if operation is not None and not isinstance(operation, dict):
            raise _no_patch(
                operation, "Operation", "handlers.jsonPatchOp", is_validated=is_validated
            )
        for member in ("op", "path", "from"):
            value = (operation or {}).get(member)
            if is_validated and value is not None and not isinstance(value, str):
                raise _wrong_type(value, f"Go struct field jsonPatchOp.{member} of type string")
    if len(document) > MAX_OPERATIONS:
        raise TooManyOperations(len(document), MAX_OPERATIONS)
    return [operation or {} for operation in document]


def unknown_members(operations: Sequence[JsonObject]) -> list[str]:
    """Paths of members that no operation has, for strict validation: ``[0].extra``."""
    return [
        f"[{index}].{member}"
        for index, operation in enumerate(operations)
        for member in operation
        if member not in _MEMBERS
    ]


def apply_json_patch(
    document: Any,
    operations: Sequence[JsonObject],
    texts: Sequence[bytes | None] | None = None,
) -> Any:
    """The patched document. Raises RejectedPatch at the first operation that fails.

    ``texts``: how the request writes the value of each operation, by which ``test`` compares.
    """
    patched = _Patched(document)
    for index, operation in enumerate(operations):
        patched.apply(operation, texts[index] if texts is not None else None)
    return patched.document


class _PathMissing(Exception):
    """What an operation is about has no parent."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class _Patched:
    """A document being patched; ``_own`` are the containers already copied for this patch."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self._own: dict[int, Any] = {}  # by id; the values keep the ids from being reused
        self._copied_bytes = 0
        self._written: set[str] = set()  # paths of values that the patch itself put there
        self._above: set[str] = set()  # paths of what holds such values

    def apply(self, operation: JsonObject, text: bytes | None = None) -> None:
        try:
            self._apply(operation, text)
        except _PathMissing as missing:
            op = operation["op"]
            where = missing.path if op in _UNQUOTED else f'"{missing.path}"'
            why = f"{op} operation does not apply: doc is missing path: {where}: missing value"
            raise RejectedPatch(why) from missing

    def _apply(self, operation: JsonObject, text: bytes | None) -> None:
        path = operation.get("path")
        if not isinstance(path, str):
            raise RejectedPatch("operation missing path field: missing value")
        value = operation.get("value")
        match operation.get("op"):
            case "add":
                self._add(path, value)
            case "replace":
                self._replace(path, value)
            case "remove":
                self._remove(path)
            case "move":
                self._add(path, self._remove(_source(operation)))
            case "copy":
                self._add(path, self._copy(_source(operation)))
            case "test":
                self._test(path, value, text)
                return
            case other:
                raise RejectedPatch(f"Unexpected kind: {other}")
        self._written.add(path)
        self._above.update(_ancestors(path))

    def _add(self, path: str, value: Any) -> None:
        match self._parent(path, write=True):
            case dict() as parent, key:
                parent[key] = value
            case list() as parent, key:
                at = len(parent) if key == "-" else _index(key, len(parent) + 1, path)
                parent.insert(at, value)

    def _replace(self, path: str, value: Any) -> None:
        if path == "":
            if not isinstance(value, dict | list):
                raise RejectedPatch("replace of the document needs an object or a list")
            self.document = value
            self._own.clear()
            return
        match self._parent(path, write=True):
            case dict() as parent, key:
                parent[key] = value
            case list() as parent, key:
                parent[_index(key, len(parent), path)] = value

    def _remove(self, path: str) -> Any:
        match self._parent(path, write=True):
            case dict() as parent, key:
                if key not in parent:
                    why = f"Unable to remove nonexistent key: {key}: missing value"
                    raise RejectedPatch(f"error in remove for path: '{path}': {why}")
                return parent.pop(key)
            case list() as parent, key:
                return parent.pop(_index(key, len(parent), path))

    def _copy(self, path: str) -> Any:
        encoded = json.encode(self._get(path))
        # Copies of copies double: without a limit 30 operations could ask for gigabytes.
        self._copied_bytes += len(encoded)
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise RejectedPatch("copies exceed the allowed size")
        return json.decode(encoded)

    def _test(self, path: str, wanted: Any, text: bytes | None) -> None:
        found = self.document if path == "" else self._get(path)
        if text is None or self._is_own(path):
            is_as_said = same(found, wanted)
        else:
            is_as_said = is_written(found, text)
        if not is_as_said:
            raise FailedTest(f"testing value {path} failed: test failed")

    def _is_own(self, path: str) -> bool:
        """Whether the patch wrote the value or a part of it: in its own words."""
        if not self._written:
            return False
        above = not self._written.isdisjoint(_ancestors(path))
        return above or path in self._written or path in self._above

    def _get(self, path: str) -> Any:
        """A missing key reads as null, a missing index is an error."""
        match self._parent(path, write=False):
            case dict() as parent, key:
                return parent.get(key)
            case list() as parent, key:
                return parent[_index(key, len(parent), path)]

    def _parent(self, path: str, *, write: bool) -> tuple[JsonObject | list[Any], str]:
        # What stands before the first slash is dropped, so "data/x" means "/x" (server.md §12).
        steps = path.split("/")
        if len(steps) < 2:
            raise _PathMissing(path)
        if write:
            self.document = self._owned(self.document)
        container = self.document
        for step in steps[1:-1]:
            container = self._step(container, _unescape(step), path, write=write)
        if not isinstance(container, dict | list):
            raise _PathMissing(path)
        return container, _unescape(steps[-1])

    def _step(self, container: Any, key: str, path: str, *, write: bool) -> Any:
        at: Any
        if isinstance(container, dict):
            at = key
            if key not in container:
                raise _PathMissing(path)
        elif isinstance(container, list):
            at = _index(key, len(container), path)
        else:
            raise _PathMissing(path)
        if write:
            container[at] = self._owned(container[at])
        return container[at]

    def _owned(self, container: Any) -> Any:
        if id(container) in self._own or not isinstance(container, dict | list):
            return container
        copy = container.copy()
        self._own[id(copy)] = copy
        return copy


def same(left: Any, right: Any) -> bool:
    """JSON equality where 1, 1.0 and true are three values."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(v, right[k]) for k, v in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def _index(key: str, length: int, path: str) -> int:
    """Negative indices count from the end, as the library under Kubernetes allows."""
    digits = key[1:] if key[:1] in ("-", "+") else key
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 18:
        raise RejectedPatch(f"{key!r} in {path!r} is no index")
    at = int(key)
    if not -length <= at < length:
        raise RejectedPatch(f"index {key} in {path!r} is out of range")
    return at + length if at < 0 else at


def _unescape(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~") if "~" in step else step


def _ancestors(path: str) -> list[str]:
    """The paths of everything that holds what is at a path that exists."""
    return [path[:at] for at, char in enumerate(path) if char == "/"]


def _source(operation: JsonObject) -> str:
    path = operation.get("from")
    return path if isinstance(path, str) else ""


def _no_patch(value: Any, name: str, validated: str, *, is_validated: bool) -> MalformedPatch:
    if is_validated:
        return _wrong_type(value, f"Go value of type {validated}")
    return MalformedPatch(go_text.mistyped(value, f"jsonpatch.{name}"))


def _wrong_type(value: Any, wanted: str) -> MalformedPatch:
    kind = go_text.json_kind(value)
    return MalformedPatch(f"error decoding patch: json: cannot unmarshal {kind} into {wanted}")
