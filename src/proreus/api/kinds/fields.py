"""Which fields the types of Kubernetes have: loaded when an absent one is first asked for.

A type is named as its class (``core_v1.PodSpec``). ``*`` before it is a list or a map of such, no
name is anything: free JSON. ``OBJECT`` and ``LIST`` are kinds nobody declared, of which only the
metadata is known.
Cost: 2 ms once; then a step down and a lookup are each one of a cache in C.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path

from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass

OBJECT, LIST = "?", "?List"


@dataclass(frozen=True, slots=True)
class KnownFields:
    """``kinds``: ``apps/v1/Deployment`` → type. ``types``: type → field → type."""

    kinds: Mapping[str, str]
    types: Mapping[str, Mapping[str, str]]


@cache
def known() -> KnownFields:
    path = Path(__file__).with_name("fields.json")
    try:
        found = json.decode(path.read_bytes())
    except FileNotFoundError as missing:
        raise RuntimeError(f"{path.name} is made by the build: pip install -e .") from missing
    types = found["types"]
    types[OBJECT] = {"metadata": "meta_v1.ObjectMeta"}
    types[LIST] = {"metadata": "meta_v1.ListMeta"}
    return KnownFields(found["kinds"], types)


@lru_cache(maxsize=4096)
def type_of_kind(api_version: str, kind: str) -> str:
    found = known().kinds.get(f"{api_version}/{kind}")
    return found or (LIST if kind.endswith("List") else OBJECT)


@lru_cache(maxsize=4096)
def type_below(type_name: str, step: str) -> str:
    """The type of a field, or of an element of a list or map."""
    if not type_name:
        return ""
    if type_name[0] == "*":
        return type_name[1:]
    return known().types[type_name].get(step, "")


@lru_cache(maxsize=4096)
def has_field(type_name: str, name: str) -> bool:
    """Whether a type is known to have a field."""
    return name in known().types.get(type_name, ())


def read_absent(type_name: str, attribute: str, present: Iterable[str]) -> None:
    """What the attribute of an absent field reads: None. Raises AttributeError, with the right
    spelling, if the type has no such field."""
    if attribute.startswith("_"):
        raise AttributeError(f"no attribute {attribute!r}")
    if not type_name or type_name in (OBJECT, LIST):
        _refuse_snake_case(attribute, present)
        return
    if type_name[0] == "*" or has_field(type_name, field_name(attribute)):
        return
    fields = known().types[type_name]
    named = type_name.rpartition(".")[2]
    raise AttributeError(
        f"{named} has no field {attribute!r}{_hint(attribute, fields)}; "
        f"a field that only a newer server knows is read with get({attribute!r})"
    )


def field_name(attribute: str) -> str:
    """Which field an attribute asks for: ``from_`` is ``from``."""
    if attribute.endswith("_") and keyword.iskeyword(attribute[:-1]):
        return attribute[:-1]
    return attribute


def _hint(attribute: str, fields: Iterable[str]) -> str:
    import difflib  # only a mistake needs it

    folded = {name.lower(): name for name in fields}
    if "metadata" in folded:  # where people look for an object's own data
        inside = known().types["meta_v1.ObjectMeta"]
        folded = {name.lower(): f"metadata.{name}" for name in inside} | folded
    close = difflib.get_close_matches(attribute.replace("_", "").lower(), folded, n=1)
    return f"; did you mean {folded[close[0]]!r}?" if close else ""


# Which Go writes in capitals inside a name: clusterIP, providerID, podCIDRs.
_INITIALISMS = {
    "cidr": "CIDR", "cidrs": "CIDRs", "fqdn": "FQDN", "id": "ID", "ip": "IP", "ipc": "IPC",
    "ips": "IPs", "pid": "PID", "uid": "UID", "uri": "URI", "url": "URL",
}  # fmt: skip


def _refuse_snake_case(attribute: str, present: Iterable[str]) -> None:
    """Of an object whose fields nobody declared: they are spelled in camel case, by convention."""
    first, *more = field_name(attribute).split("_")
    if not more:
        return
    folded = attribute.replace("_", "").lower()
    meant = next((name for name in present if name.lower() == folded), "") or first + "".join(
        _INITIALISMS.get(word, word[:1].upper() + word[1:]) for word in more
    )
    raise AttributeError(
        f"no field {attribute!r}; fields are spelled as in YAML, did you mean {meant!r}? "
        f"A field that may be absent and has an underscore is read with get({attribute!r})"
    )


def check_fields(type_name: str, given: Iterable[str]) -> None:
    """Raise TypeError for a keyword that is no field of a type."""
    fields = known().types[type_name]
    for name in given:
        if field_name(name) not in fields:
            named = type_name.rpartition(".")[2]
            raise TypeError(f"{named} has no field {name!r}{_hint(name, fields)}")
