"""One codec for every message: the table of field numbers, compiled per message when first used.

A message becomes two dictionaries: tag → how to read it, JSON name → how to write it. Reading is
one loop over tags; the branches stand in the order of how often a pod needs them, because this
loop is most of the cost of a protobuf body (about 100 µs for a pod of 3.7 kB).

Zero values are kept: Go writes them for plain fields and leaves them out for unset pointers, so
only the schema's check, which knows the one from the other, can tell what they mean.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from proreus.api.json_types import JsonObject
from proreus.api.wire.amplification import Budget
from proreus.api.wire.protobuf_special import Decode, Encode, fields
from proreus.api.wire.protobuf_unions import UNIONS, union_of
from proreus.api.wire.protobuf_wire import (
    BYTES,
    FIXED64,
    KEY,
    VALUE,
    VARINT,
    FieldHeads,
    ProtobufError,
    Truncated,
    heads_of,
    read_varint,
    signed,
    skip,
    write_tag,
    write_varint,
)

Table = Mapping[str, Mapping[str, tuple[int, str]]]
Specials = Mapping[str, tuple[Decode, Encode]]
_DecodeWithin = Callable[[bytes, Budget], Any]

_WIRE_TYPES = {"int32": VARINT, "int64": VARINT, "bool": VARINT, "double": FIXED64}
# What a field turns into; plural: it repeats and becomes a list.
_TEXT, _MESSAGE, _NUMBER, _MAP, _VALUE, _INLINE = 0, 1, 2, 3, 4, 5
_TEXTS, _MESSAGES, _NUMBERS, _VALUES, _PACKED, _DOUBLE = 6, 7, 8, 9, 10, 11
# One of these, the JSON name, and what reads the value: buffer and positions for messages, the
# varint for numbers (None: an integer), bytes for the others.
_Reader = tuple[int, str, Any]
# One of these (_TEXT, _MESSAGE, _MESSAGES: bytes behind a head; _VALUE: bytes with their tag), the
# heads by length, and what makes the bytes.
_Writer = tuple[int, FieldHeads, Any]


class Messages:
    """Every message by its name in the table, such as ``core.v1.Pod``."""

    def __init__(self, table: Table, specials: Specials) -> None:
        self._table = table
        self._specials = specials
        self._messages: dict[str, Message] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._table

    def __getitem__(self, name: str) -> Message:
        found = self._messages.get(name)
        if found is None:
            found = self._messages[name] = Message(name, self._table[name], self)
        return found

    def special(self, name: str) -> tuple[_DecodeWithin, Encode] | None:
        """Bytes ⇄ value of a type that is no plain object, None for one that is."""
        if name in UNIONS:
            return union_of(name, lambda: self["apiextensions.v1.JSONSchemaProps"])
        found = _BASE64 if name == "bytes" else self._specials.get(name)
        if found is None:
            return None
        decode, encode = found
        return (lambda raw, _: decode(raw)), encode


class Message:
    """Reads and writes one message; tables are compiled on first use, as messages recurse."""

    __slots__ = ("_fields", "_messages", "_readers", "_writers", "name")

    def __init__(
        self, name: str, fields: Mapping[str, tuple[int, str]], messages: Messages
    ) -> None:
        self.name = name
        self._fields = fields
        self._messages = messages
        self._readers: dict[int, _Reader] | None = None
        self._writers: dict[str, _Writer] | None = None

    def decode(self, buffer: bytes, at: int, end: int, budget: Budget) -> JsonObject:
        """The object between two positions. IndexError means the buffer ended too soon."""
        budget.spend()
        readers = self._readers
        if readers is None:
            readers = self._compile_readers()
        found: JsonObject = {}
        while at < end:
            tag = buffer[at]
            at += 1
            if tag > 0x7F:
                tag, at = read_varint(buffer, at - 1)
            reader = readers.get(tag)
            if reader is None:
                at = skip(buffer, at, end, tag, self.name)
                continue
            kind, name, read = reader
            if kind == _DOUBLE:
                found[name] = _double(buffer[at : at + 8])
                at += 8
                continue
            size = buffer[at]  # of what follows, or the number itself
            at += 1
            if size > 0x7F:
                size, at = read_varint(buffer, at - 1)
            if kind == _NUMBER:
                found[name] = read(size) if read is not None else signed(size)
                continue
            if kind == _NUMBERS:
                found.setdefault(name, []).append(read(size) if read else signed(size))
                continue
            stop = at + size
            if stop > end:
                raise Truncated
            if kind == _TEXT:
                found[name] = buffer[at:stop].decode("utf-8", "replace")
            elif kind == _MESSAGE:
                found[name] = read(buffer, at, stop, budget)
            elif kind == _MAP:
                key, value = _entry(buffer, at, stop, read, budget)
                found.setdefault(name, {})[key] = value
            elif kind == _VALUE:
                if (value := read(buffer[at:stop], budget)) is not None:
                    found[name] = value
            elif kind == _MESSAGES:
                found.setdefault(name, []).append(read(buffer, at, stop, budget))
            elif kind == _TEXTS:
                found.setdefault(name, []).append(buffer[at:stop].decode("utf-8", "replace"))
            elif kind == _INLINE:
                found.update(read(buffer, at, stop, budget))
            elif kind == _VALUES:
                found.setdefault(name, []).append(read(buffer[at:stop], budget))
            else:
                found.setdefault(name, []).extend(_unpack(buffer[at:stop], read))
            at = stop
        if at != end:
            raise Truncated
        return found

    def encode(self, value: Any) -> bytes:
        """The fields in the object's order; those without a number are left out. The branches stand
        in the order of how often a pod needs them: texts are written here, without a call."""
        if not isinstance(value, dict):
            raise ProtobufError(f"{self.name} must be an object, got {type(value).__name__}")
        writers = self._writers
        if writers is None:
            writers = self._compile_writers()
        parts: list[bytes] = []
        key = ""
        try:
            for key, child in value.items():
                writer = writers.get(key)
                if writer is None or child is None:
                    continue
                kind, heads, write = writer
                if kind == _TEXT:
                    body = child.encode()
                    parts.append(heads[len(body)])
                    parts.append(body)
                elif kind == _MESSAGE:
                    body = write(child)
                    parts.append(heads[len(body)])
                    parts.append(body)
                elif kind == _MESSAGES:
                    for item in child:
                        body = write(item)
                        parts.append(heads[len(body)])
                        parts.append(body)
                else:
                    parts.append(write(child))
        except (AttributeError, TypeError) as bad:
            raise ProtobufError(f"{self.name}.{key}: {bad}") from bad
        return b"".join(parts)

    def _compile_readers(self) -> dict[int, _Reader]:
        readers: dict[int, _Reader] = {}
        for name, (number, kind) in self._fields.items():
            for wire_type, reader in _readers_of(name, kind, self._messages):
                readers[number << 3 | wire_type] = reader
        self._readers = readers
        return readers

    def _compile_writers(self) -> dict[str, _Writer]:
        writers: dict[str, _Writer] = {}
        for name, (number, kind) in self._fields.items():
            prefix, _, inner = kind.rpartition(":")
            if prefix == "inline":
                message = self._messages[inner]
                for key in message.writers:
                    writers[key] = (_MESSAGE, heads_of(number), _inline_writer(message, key))
            else:
                writers[name] = _writer_of(number, prefix, inner, self._messages)
        self._writers = writers
        return writers

    def heads(self, field: str) -> FieldHeads:
        """What stands before the bytes of a field, by their length."""
        return self.writers[field][1]

    @property
    def writers(self) -> dict[str, _Writer]:
        return self._writers if self._writers is not None else self._compile_writers()


def _readers_of(name: str, kind: str, messages: Messages) -> list[tuple[int, _Reader]]:
    prefix, _, inner = kind.rpartition(":")
    many = prefix == "list"
    if prefix == "inline":
        return [(BYTES, (_INLINE, name, messages[inner].decode))]
    if prefix == "map":
        return [(BYTES, (_MAP, name, _value_reader(inner, messages)))]
    if inner == "double":
        assert not many, "no message has a list of these"
        return [(FIXED64, (_DOUBLE, name, None))]
    if inner in _WIRE_TYPES:
        convert = bool if inner == "bool" else None
        plain = (VARINT, (_NUMBERS if many else _NUMBER, name, convert))
        return [plain, (BYTES, (_PACKED, name, convert or signed))] if many else [plain]
    if inner == "string":
        return [(BYTES, (_TEXTS if many else _TEXT, name, None))]
    if special := messages.special(inner):
        return [(BYTES, (_VALUES if many else _VALUE, name, special[0]))]
    return [(BYTES, (_MESSAGES if many else _MESSAGE, name, messages[inner].decode))]


def _double(raw: bytes) -> float | int:
    if len(raw) != 8:
        raise Truncated
    value: float = struct.unpack("<d", raw)[0]
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _unpack(raw: bytes, convert: Callable[[int], Any]) -> list[Any]:
    """A packed list of numbers; Go does not write them so, but must be answered if it does."""
    values, at = [], 0
    while at < len(raw):
        value, at = read_varint(raw, at)
        values.append(convert(value))
    return values


def _value_reader(kind: str, messages: Messages) -> _DecodeWithin:
    """Reads the value of a map's entry, empty bytes if the entry has none."""
    if kind == "string":
        return lambda raw, _: raw.decode("utf-8", "replace")
    if special := messages.special(kind):
        return special[0]
    message = messages[kind]
    return lambda raw, budget: message.decode(raw, 0, len(raw), budget)


def _entry(
    buffer: bytes, at: int, stop: int, read: _DecodeWithin, budget: Budget
) -> tuple[str, Any]:
    """Key and value of a map's entry."""
    middle = at + 2 + buffer[at + 1] if stop - at > 3 else stop
    # Nearly all are a key, then a value, both short.
    if middle + 1 < stop and buffer[at] == 0x0A and buffer[middle] == 0x12:
        value = middle + 2
        if buffer[middle + 1] == stop - value < 0x80 and buffer[at + 1] < 0x80:
            return buffer[at + 2 : middle].decode("utf-8", "replace"), read(
                buffer[value:stop], budget
            )
    key, found = b"", b""
    for number, part in fields(buffer[at:stop], "map entry"):
        if number == 1 and isinstance(part, bytes):
            key = part
        elif number == 2 and isinstance(part, bytes):
            found = part
    return key.decode("utf-8", "replace"), read(found, budget)


def _writer_of(number: int, prefix: str, inner: str, messages: Messages) -> _Writer:
    heads, is_list = heads_of(number), prefix == "list"
    if prefix == "map":
        value = _body_writer(inner, messages)
        write = partial(_write_texts, heads) if inner == "string" else _map_writer(heads, value)
        return _VALUE, heads, write
    if inner in _WIRE_TYPES:
        write = _number_writer(number, inner)
        return _VALUE, heads, _each(write) if is_list else write
    if inner == "string" and not is_list:
        return _TEXT, heads, None
    return _MESSAGES if is_list else _MESSAGE, heads, _body_writer(inner, messages)


def _body_writer(kind: str, messages: Messages) -> Encode:
    """Of what has its length before it."""
    if kind == "string":
        return lambda text: text.encode()
    special = messages.special(kind)
    return special[1] if special is not None else messages[kind].encode


def _each(write: Encode) -> Encode:
    return lambda values: b"".join(map(write, values))


def _number_writer(number: int, kind: str) -> Encode:
    tag = write_tag(number, _WIRE_TYPES[kind])
    if kind == "bool":
        return lambda value: tag + (b"\x01" if value else b"\x00")
    if kind == "double":
        return lambda value: tag + struct.pack("<d", value)
    return lambda value: tag + write_varint(value)


def _map_writer(heads: FieldHeads, write: Encode) -> Encode:
    def write_map(entries: Any) -> bytes:
        parts: list[bytes] = []
        for key in sorted(entries):
            name, value = key.encode(), write(entries[key])
            entry = b"%b%b%b%b" % (KEY[len(name)], name, VALUE[len(value)], value)
            parts += (heads[len(entry)], entry)
        return b"".join(parts)

    return write_map


def _write_texts(heads: FieldHeads, entries: Any) -> bytes:
    """A map of strings, which may have very many."""
    parts: list[bytes] = []
    for key in sorted(entries):
        name, text = key.encode(), entries[key].encode()
        entry = b"%b%b%b%b" % (KEY[len(name)], name, VALUE[len(text)], text)
        parts += (heads[len(entry)], entry)
    return b"".join(parts)


def _inline_writer(message: Message, key: str) -> Encode:
    """A nested message's fields stand in the parent's object. Writing each as a message of its own
    is the same on the wire: a reader joins messages that come in parts."""
    return lambda value: message.encode({key: value})


def _decode_base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _encode_base64(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as bad:
        raise ProtobufError(f"illegal base64: {bad}") from bad


_BASE64: tuple[Decode, Encode] = (_decode_base64, _encode_base64)
