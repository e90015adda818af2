"""A state without what differs from run to run by nature: uids, times, versions, generated names.

    Pod default/web-*     {"metadata": {"ownerReferences": [{"uid": "<uid of ReplicaSet …>"}]}, …}

A uid becomes the object that has it, so that a reference to one that is gone is seen; the observed
generation becomes whether it is the object's; addresses that the server hands out are dropped. What
differed between two runs in which nothing went wrong (``Chance``) is masked: random names and
values of the program's own. Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from proreus.api.json_types import Json, JsonObject
from proreus.testing.explore.points import key_of

_DROPPED_METADATA = frozenset(
    {"resourceVersion", "uid", "creationTimestamp", "managedFields", "generation", "selfLink"}
    | {"name", "generateName"}
)
TOUCHED = "explore.proreus.io/changed"  # an annotation by which an exploration changes objects
_DROPPED = frozenset(
    {TOUCHED, "resourceVersion"}
    | {"clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"}
    | {"podIP", "podIPs", "hostIP", "hostIPs", "containerID"}
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
MASK = "<differs by itself>"

Path = tuple[str | int, ...]
NormalObjects = dict[str, list[Any]]  # by "Kind namespace/name"


@dataclass(frozen=True, slots=True)
class Chance:
    """What two undisturbed runs did not agree on. ``prefixes``: of names, by kind and namespace;
    ``values``: paths in an object."""

    prefixes: frozenset[tuple[str, str]] = frozenset()
    values: frozenset[tuple[str, Path]] = frozenset()


@dataclass(slots=True)
class _Names:
    """Of the objects of one state: what each is called, by uid and by full name."""

    by_uid: dict[str, str] = field(default_factory=dict)
    generated: dict[str, str] = field(default_factory=dict)


def normalized(objects: Iterable[Json], chance: Chance = Chance()) -> NormalObjects:  # noqa: B008
    """``chance`` is immutable."""
    objects = list(objects)
    names = _Names()
    titles = [_title(obj, chance, names) for obj in objects]
    pattern = _any_of(names.generated)
    found: NormalObjects = defaultdict(list)
    for title, obj in zip(titles, objects, strict=True):
        value = _normal_object(obj, names, pattern)
        for masked, path in chance.values:
            if masked == title:
                _put_mask(value, path)
        found[title].append(value)
    return dict(found)


def chance_in(one: Iterable[Json], other: Iterable[Json]) -> Chance:
    """What two undisturbed runs tell about chance."""
    one, other = list(one), list(other)
    prefixes = frozenset(_random_prefixes(one, other))
    named = Chance(prefixes)
    first, second = normalized(one, named), normalized(other, named)
    values = {
        (title, path)
        for title in first.keys() & second.keys()
        for left, right in zip(first[title], second[title], strict=False)
        for path in _unequal(left, right, ())
    }
    return Chance(prefixes, frozenset(values))


def _title(obj: Json, chance: Chance, names: _Names) -> str:
    metadata, kind = obj["metadata"], str(obj.get("kind"))
    key = key_of(metadata)
    namespace = str(metadata.get("namespace") or "")
    name = str(metadata.get("name"))
    if not key.endswith("*"):
        for group, prefix in chance.prefixes:
            if group == f"{kind} {namespace}" and name.startswith(prefix):
                key = f"{namespace}/{prefix}*" if namespace else f"{prefix}*"
    if key.endswith("*"):
        names.generated[name] = key.rpartition("/")[2]
    title = f"{kind} {key}"
    names.by_uid[str(metadata.get("uid"))] = title
    return title


def _normal_object(obj: Json, names: _Names, generated: re.Pattern[str] | None) -> JsonObject:
    generation = obj["metadata"].get("generation")

    def text(value: str) -> str:
        if (title := names.by_uid.get(value)) is not None:
            return f"<uid of {title}>"
        value = _TIME.sub("<time>", value)
        value = _UID.sub(
            lambda uid: f"<uid of {names.by_uid.get(uid[0], 'nothing that is there')}>", value
        )
        if generated is not None:
            value = generated.sub(lambda found: names.generated[found[0]], value)
        return value

    def visit(value: Any, name: str) -> Any:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, Mapping):
            kept = {
                text(str(key)): visit(inner, str(key))
                for key, inner in value.items()
                if key not in _DROPPED
            }
            return {key: inner for key, inner in kept.items() if inner not in (None, {}, [])}
        if isinstance(value, list):
            items = [visit(inner, name) for inner in value]
            if name == "conditions":
                items.sort(key=lambda one: str(one.get("type")) if isinstance(one, dict) else "")
            return items
        if name == "observedGeneration" and generation is not None:
            return "<current>" if value == generation else "<behind>"
        return value

    metadata = {k: v for k, v in obj["metadata"].items() if k not in _DROPPED_METADATA}
    result: JsonObject = visit({**obj, "metadata": metadata}, "")
    return result


def _random_prefixes(one: list[Json], other: list[Json]) -> Iterable[tuple[str, str]]:
    first, second = _plain_names(one), _plain_names(other)
    for group in first.keys() & second.keys():
        lone = sorted(first[group] - second[group]), sorted(second[group] - first[group])
        for left, right in zip(*lone, strict=False):
            prefix = _shared_prefix(left, right)
            if prefix:
                yield group, prefix


def _plain_names(objects: list[Json]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for obj in objects:
        metadata = obj["metadata"]
        if not key_of(metadata).endswith("*"):
            group = f"{obj.get('kind')} {metadata.get('namespace') or ''}"
            found[group].add(str(metadata.get("name")))
    return found


def _shared_prefix(left: str, right: str) -> str:
    """As far as both agree, up to the last separator in it."""
    count = 0
    while count < min(len(left), len(right)) and left[count] == right[count]:
        count += 1
    return left[: left.rfind("-", 0, count) + 1]


def _any_of(names: Mapping[str, str]) -> re.Pattern[str] | None:
    if not names:
        return None
    longest_first = sorted(map(re.escape, names), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(longest_first)})(?![\w-])")


def _unequal(left: Any, right: Any, path: Path) -> Iterable[Path]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in left.keys() | right.keys():
            if key not in left or key not in right:
                yield (*path, key)
            else:
                yield from _unequal(left[key], right[key], (*path, key))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for place, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _unequal(one, other, (*path, place))
    elif left != right:
        yield path


def _put_mask(value: Any, path: Path) -> None:
    for part in path[:-1]:
        if not _has(value, part):
            return
        value = value[part]
    if path and (isinstance(value, dict) or _has(value, path[-1])):
        value[path[-1]] = MASK


def _has(value: Any, part: str | int) -> bool:
    if isinstance(part, int):
        return isinstance(value, list) and part < len(value)
    return isinstance(value, dict) and part in value
