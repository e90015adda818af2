"""YAML in and out, as the libraries under Kubernetes read and write it: YAML 1.1, made JSON.

``yes``, ``on`` and ``0755`` convert, as keys too; dates, ``12:30`` and ``=`` stay text; ``1e3`` is
a number; only the first document counts; keys become strings. Stands where a body enters (apply
patches, application/yaml) and where a YAML answer leaves. Cost: about 1.5 ms per pod each way, and
30 µs for one that is written as JSON.

Invariant: a decoded value is plain JSON, acyclic, and not larger than aliases may make it. Neither
does it hold more objects and lists than ``amplification`` allows.
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml as pyyaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentEndEvent,
    MappingEndEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.nodes import MappingNode, ScalarNode

from proreus.api import go_text
from proreus.api.json_types import JsonObject
from proreus.api.wire import strict_json, yaml_scalars
from proreus.api.wire.amplification import Budget, check_json
from proreus.api.wire.json_reader import TOO_DEEP, JsonRead
from proreus.api.wire.yaml_keys import in_order

try:
    from yaml import CSafeDumper as _Dumper
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML built without libyaml: slower, the same results
    from yaml import SafeDumper as _Dumper  # type: ignore[assignment]
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

# Small documents may consist of aliases, large ones must not: a few lines would make billions.
_ALIASED_FREE = 1_000
_SMALL_NODES, _LARGE_NODES = 400_000, 4_000_000
_SMALL_SHARE, _LARGE_SHARE = 0.99, 0.10
MAX_DEPTH = 10_000  # the other library's
# The scanner's cost of an event grows with its depth in brackets.
_SKIPPED_MAX = 20_000
_KEPT_DEPTH = 250  # less than the JSON encoder writes
_JSON_DEPTH_MAX = 100
_JSON_KEY_MAX = 500
# Control characters and escapes that the two languages do not agree on.
_MEANS_ANOTHER = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]|\\[/u]")

_OPEN = object()  # an anchor whose value is being read
_ANY = "interface {}"  # what Go calls the keys of a YAML map
_MAP, _STRING = "tag:yaml.org,2002:map", "tag:yaml.org,2002:str"
_LITERAL_BLOCKED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ufeff]")


class YamlError(ValueError):
    """Text that is no YAML; ``str(error)`` is worded like the server's parser."""


class _Undecodable(YamlError):
    """YAML that means nothing; that the whole document is YAML is found before."""


def _read_as_json(data: bytes) -> JsonObject | None:
    """The value of a document that is JSON and means the same as YAML; None: read it as YAML.

    kubectl sends what it applies as JSON and calls it YAML; a hundredth of the time is enough.
    """
    if data[:1] != b"{" or not data.isascii() or _MEANS_ANOTHER.search(data):
        return None
    check_json(data)
    try:
        value, duplicates = strict_json.decode_strict(data)
    except strict_json.JsonError:
        return None
    return value if not duplicates and _is_the_same(value, 0) else None


def _is_the_same(value: Any, depth: int) -> bool:
    """Floats are written otherwise, keys and depth have limits of their own."""
    if type(value) is dict:
        return depth < _JSON_DEPTH_MAX and all(
            len(key) < _JSON_KEY_MAX and _is_the_same(item, depth + 1)
            for key, item in value.items()
        )
    if type(value) is list:
        return depth < _JSON_DEPTH_MAX and all(_is_the_same(item, depth + 1) for item in value)
    return type(value) is not float


def decode_strict(data: bytes) -> tuple[Any, tuple[str, ...]]:
    """The value, and one ``line 5: key "x" already set in map`` per key given twice."""
    read = decode_deep(data)
    if read.is_cut:
        raise YamlError("yaml: exceeded max depth")
    return read.value, read.duplicates


def decode_deep(data: bytes) -> JsonRead:
    """As ``decode_strict``, but what is very deep is marked instead of refused."""
    if (plain := _read_as_json(data)) is not None:
        return JsonRead(plain, (), is_cut=False)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as bad:
        where = "invalid leading" if bad.reason == "invalid start byte" else "invalid trailing"
        raise YamlError(f"yaml: {where} UTF-8 octet") from bad
    parser = _Loader(data)
    try:
        reader = _Reader(parser)
        try:
            value = reader.document()
        except _Undecodable:
            reader.read_past()
            raise
        return JsonRead(value, tuple(reader.duplicates), reader.is_cut)
    except pyyaml.YAMLError as fault:
        raise YamlError(f"yaml: {_explain(fault)}") from fault
    finally:
        parser.dispose()


def encode(value: Any) -> bytes:
    """Block style, keys sorted, strings quoted only where they would read as something else."""
    text: bytes = pyyaml.dump(
        value,
        Dumper=_Writer,
        default_flow_style=False,
        allow_unicode=True,
        sort_keys=False,
        width=80,
        encoding="utf-8",
    )
    # A scalar as the whole document is followed by a superfluous end marker.
    return text.removesuffix(b"...\n")


def _explain(fault: pyyaml.YAMLError) -> str:
    problem = getattr(fault, "problem", None) or getattr(fault, "reason", None)
    line = 0
    if (mark := getattr(fault, "problem_mark", None)) and mark.line:
        # The scanner stops before the line break it trips over, the parser after it.
        line = mark.line + isinstance(fault, pyyaml.scanner.ScannerError)
    elif (mark := getattr(fault, "context_mark", None)) and mark.line:
        line = mark.line
    where = f"line {line}: " if line else ""
    return f"{where}{problem or 'unknown problem parsing YAML content'}"


class _Reader:
    """Parser events → JSON value, in one pass and with bounded depth.

    Composing nodes first would be no faster, and the C composer overflows the stack on deep input.
    """

    def __init__(self, parser: Any) -> None:
        self.duplicates: list[str] = []
        self.is_cut = False  # something was too deep to be kept
        self._next = parser.get_event
        self._anchors: JsonObject = {}
        self._nodes = 0
        self._aliased = 0
        self._unconvertible: YamlError | None = None  # found when all else was
        self._may_be_unwritable = False
        self._containers = Budget()
        self._skipped = 0  # events below what is kept

    def document(self) -> Any:
        self._next()  # StreamStart
        if isinstance(self._next(), StreamEndEvent):
            return None
        value = self._value(self._next(), 0)
        if self._unconvertible is not None:
            raise self._unconvertible
        if self._may_be_unwritable:
            _check_is_written(value)
        return value

    def read_past(self) -> None:
        """The rest of the document, for faults of syntax."""
        while not isinstance(self._next(), DocumentEndEvent | StreamEndEvent):
            pass

    def _value(self, event: NodeEvent, depth: int) -> Any:
        self._nodes += 1
        if depth > _KEPT_DEPTH and isinstance(event, CollectionStartEvent):
            return self._skip(depth)
        if isinstance(event, AliasEvent):
            return self._alias(event, depth)
        value: Any
        if isinstance(event, ScalarEvent):
            value = _json(_scalar(event))
            if isinstance(value, float) and not math.isfinite(value):
                self._may_be_unwritable = True
        else:
            self._containers.spend()
            if event.anchor:
                self._anchors[event.anchor] = _OPEN
            if isinstance(event, SequenceStartEvent):
                value = self._sequence(depth)
            else:
                value = self._mapping(depth)
        if event.anchor:
            self._anchors[event.anchor] = value
        return value

    def _alias(self, event: AliasEvent, depth: int) -> Any:
        if event.anchor not in self._anchors:
            raise YamlError(f"yaml: unknown anchor '{event.anchor}' referenced")
        value = self._anchors[event.anchor]
        if value is _OPEN:
            raise YamlError(f"yaml: anchor '{event.anchor}' value contains itself")
        return self._copy(value, depth)

    def _copy(self, value: Any, depth: int) -> Any:
        """Every use of an alias counts: ten levels of ten aliases are ten billion values."""
        self._nodes += 1
        self._aliased += 1
        if depth > _KEPT_DEPTH and isinstance(value, dict | list):
            self.is_cut = True
            return TOO_DEEP
        if self._aliased > _ALIASED_FREE and self._aliased > self._nodes * _aliased_share(
            self._nodes
        ):
            raise YamlError("yaml: document contains excessive aliasing")
        match value:
            case dict():
                self._containers.spend()
                return {key: self._copy(child, depth + 1) for key, child in value.items()}
            case list():
                self._containers.spend()
                return [self._copy(child, depth + 1) for child in value]
            case _:
                return value

    def _skip(self, depth: int) -> Any:
        """Read past a list or map that was just begun."""
        self.is_cut = True
        outside = depth
        depth += 1
        while depth > outside:
            match self._next():
                case CollectionStartEvent():
                    depth += 1
                case CollectionEndEvent():
                    depth -= 1
            self._skipped += 1
            if depth > MAX_DEPTH or self._skipped > _SKIPPED_MAX:
                raise YamlError(f"yaml: exceeded max depth of {MAX_DEPTH}")
        return TOO_DEEP

    def _sequence(self, depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := self._next(), SequenceEndEvent):
            items.append(self._value(event, depth + 1))
        return items

    def _mapping(self, depth: int) -> JsonObject:
        own: JsonObject = {}
        merged: JsonObject = {}
        while not isinstance(event := self._next(), MappingEndEvent):
            if isinstance(event, ScalarEvent) and event.value == "<<" and event.implicit[0]:
                merged = _merge_source(self._value(self._next(), depth + 1)) | merged
                continue
            key = self._key(event, depth)
            if key is None:
                fault = _null_key(self._value(self._next(), depth + 1))
                self._unconvertible = fault  # of several null keys the last is kept
                continue
            if key in own:
                line = event.start_mark.line + 1
                self.duplicates.append(f'line {line}: key "{key}" already set in map')
            own[key] = self._value(self._next(), depth + 1)
        return {k: v for k, v in merged.items() if k not in own} | own if merged else own

    def _key(self, event: NodeEvent, depth: int) -> str | None:
        if isinstance(event, AliasEvent):
            value = self._alias(event, 0)
        elif isinstance(event, ScalarEvent):
            value = _scalar(event)
            if event.anchor:
                self._anchors[event.anchor] = value
        else:
            shown = go_text.syntax(self._value(event, depth + 1), keys=_ANY)
            raise _Undecodable(f"yaml: invalid map key: {shown}")
        match value:
            case bool():
                return "true" if value else "false"
            case str() | None:
                return value
            case int() | float():
                return yaml_scalars.number_text(value)
            case _:
                raise _Undecodable(f"yaml: invalid map key: {go_text.syntax(value, keys=_ANY)}")


def _null_key(value: Any) -> YamlError:
    """The key of this value is null."""
    shown = "<nil>" if value is None else go_text.syntax(value, keys=_ANY)
    return YamlError(f"unsupported map key of type: %!s(<nil>), key: <nil>, value: {shown}")


def _aliased_share(nodes: int) -> float:
    """How much of a document of this size may come from aliases."""
    above = min(max(nodes - _SMALL_NODES, 0), _LARGE_NODES - _SMALL_NODES)
    return _SMALL_SHARE - (_SMALL_SHARE - _LARGE_SHARE) * above / (_LARGE_NODES - _SMALL_NODES)


def _merge_source(value: Any) -> JsonObject:
    sources = value if isinstance(value, list) else [value]
    merged: JsonObject = {}
    for source in sources:
        if not isinstance(source, dict):
            raise _Undecodable("yaml: map merge requires map or sequence of maps as the value")
        merged = source | merged
    return merged


def _scalar(event: ScalarEvent) -> yaml_scalars.Scalar:
    tag = event.tag or (yaml_scalars.PLAIN if event.implicit[0] else _STRING)
    try:
        return yaml_scalars.resolve(tag, event.value)
    except yaml_scalars.ScalarError as fault:
        raise _Undecodable(f"yaml: {fault}") from fault


def _json(value: yaml_scalars.Scalar) -> Any:
    """A float that JSON writes without a fraction is an integer from then on (``1e3``)."""
    if isinstance(value, float) and math.isfinite(value):
        # Beyond 64 bits it stays a float: no encoder here writes longer integers.
        return int(value) if value.is_integer() and -(2**63) <= value < 2**64 else value
    return value


def _check_is_written(value: Any) -> None:
    """Refuse numbers that JSON has no words for, the first in the order in which it is written."""
    match value:
        case dict():
            for key in sorted(value):
                _check_is_written(value[key])
        case list():
            for item in value:
                _check_is_written(item)
        case float() if not math.isfinite(value):
            raise YamlError(f"json: unsupported value: {yaml_scalars.number_text(value)}")


class _Writer(_Dumper):
    """PyYAML's emitter with the other library's choice of quotes."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(writer: _Writer, text: str) -> ScalarNode:
    if "\n" in text and not _LITERAL_BLOCKED.search(text):
        style: str | None = "|"
    elif yaml_scalars.reads_as_text(text):
        style = None
    else:
        style = '"'
    node: ScalarNode = writer.represent_scalar(_STRING, text, style=style)
    return node


def _represent_fraction(writer: _Writer, value: float) -> ScalarNode:
    text = go_text.number(value)
    # The type that this library would read, so that it writes neither quotes nor a tag.
    kind = "float" if "." in text else "str" if "e" in text else "int"
    node: ScalarNode = writer.represent_scalar(f"tag:yaml.org,2002:{kind}", text)
    return node


def _represent_map(writer: _Writer, values: dict[str, Any]) -> MappingNode:
    ordered = [(key, values[key]) for key in in_order(values)]
    node: MappingNode = writer.represent_mapping(_MAP, ordered)
    return node


_Writer.add_representer(str, _represent_text)
_Writer.add_representer(float, _represent_fraction)
_Writer.add_representer(dict, _represent_map)
# Dates, "=" and "<<" are text here; without these rules the emitter asks for no quotes of its own.
_KEPT = tuple(f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "float", "null"))
_Writer.yaml_implicit_resolvers = {
    first: [(tag, rule) for tag, rule in rules if tag in _KEPT]
    for first, rules in _Dumper.yaml_implicit_resolvers.items()
}
