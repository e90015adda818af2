"""Accept and Content-Type → encoding and form of an answer (server.md §8.1, §12).

Two gates stand behind each other, as in Kubernetes: the router knows only media types and says
``406: Not Acceptable``; negotiation then looks at the parameters. Pure, and remembered per header.
"""

from __future__ import annotations

import re
from dataclasses import field
from enum import StrEnum
from functools import lru_cache
from typing import Literal, TypeGuard, assert_never

from proreus.api.patch.patch_type import PatchType
from proreus.api.status import NotAcceptable, UnsupportedMediaType
from proreus.lazy_dataclass import dataclass
from proreus.server.resource import Resource


class Media(StrEnum):
    """The encodings of objects. Code that treats them differently is a ``match`` that ends in
    ``assert_never``: the type checker lists all such places when one is added."""

    JSON = "application/json"
    YAML = "application/yaml"
    PROTOBUF = "application/vnd.kubernetes.protobuf"
    CBOR = "application/cbor"


# What a watch can be encoded in.
StreamMedia = Literal[Media.JSON, Media.PROTOBUF, Media.CBOR]
# What a body can be encoded in. CBOR is refused, as by Kubernetes without its feature gate, and
# client-go then goes on with JSON.
BodyMedia = Literal[Media.JSON, Media.YAML, Media.PROTOBUF]


class Form(StrEnum):
    """What an answer contains of an object; the values are kinds of meta.k8s.io."""

    WHOLE = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


# What messages name. CBOR is for who knows of it: Kubernetes does not serve it by default.
SERVED: tuple[BodyMedia, ...] = (Media.JSON, Media.YAML, Media.PROTOBUF)
_UNDERSTOOD = (*SERVED, Media.CBOR)
_STREAMS = f"{Media.JSON};stream=watch, {Media.PROTOBUF};stream=watch"
_PATCH_TYPES = tuple(kind.value for kind in PatchType)
_FORMS = {form.value: form for form in Form if form is not Form.WHOLE}
_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z{}]+"
_PARAMETER = re.compile(rf'\s*;\s*({_TOKEN})\s*=\s*({_TOKEN}|"(?:[^"\\\r\n]|\\[^\r\n])*")')
_CLAUSES_MAX = 64  # sorting them is quadratic; no client sends more


@dataclass(frozen=True, slots=True)
class Choice:
    """``version`` is that of meta.k8s.io, "" for whole objects."""

    media: Media = Media.JSON
    form: Form = Form.WHOLE
    version: str = ""
    pretty: bool = False


PLAIN = Choice()
PLAINLY_JSON = frozenset({"", "*/*", "application/json"})  # what nearly all clients accept


@dataclass(slots=True)
class _Clause:
    type: str
    subtype: str
    quality: float = 1.0
    params: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Offer:
    """What an endpoint can answer. Custom resources have no protobuf, except of their metadata."""

    has_table: bool = True
    is_custom: bool = False
    has_forms: bool = True  # besides whole objects


_ANY = Offer()
AS_IT_IS = Offer(has_forms=False)


def negotiate(accept: str, offer: Offer = _ANY) -> Choice:
    """Raises NotAcceptable."""
    if accept in PLAINLY_JSON:
        return PLAIN
    found = _negotiated(accept, offer)
    if found is None:
        raise NotAcceptable(f"only the following media types are accepted: {', '.join(SERVED)}")
    return found


def stream_media(choice: Choice) -> StreamMedia:
    """A watch needs a type that can be streamed; there is no second choice."""
    media = choice.media
    if not _is_streamed(media):
        raise NotAcceptable(f"only the following media types are accepted: {_STREAMS}")
    return media


def _is_streamed(media: Media) -> TypeGuard[StreamMedia]:
    match media:
        case Media.JSON | Media.PROTOBUF | Media.CBOR:
            return True
        case Media.YAML:
            return False
        case _:
            assert_never(media)


def _needs_messages(media: Media) -> bool:
    """Whether it needs a message type per kind, so that it has no custom kinds and no tables."""
    match media:
        case Media.JSON | Media.YAML | Media.CBOR:
            return False
        case Media.PROTOBUF:
            return True
        case _:
            assert_never(media)


def check_routed(
    accept: str, *, is_collection: bool = False, offered: tuple[Media, ...] = SERVED
) -> None:
    """The router's own check of Accept. Raises NotAcceptable."""
    if accept in PLAINLY_JSON or _is_routed(accept, offered):
        return
    kinds = ", ".join(offered) + (f", {_STREAMS}" if is_collection else "")
    raise NotAcceptable(f"406: Not Acceptable\n\nAvailable representations: {kinds}", details={})


def patch_type(content_type: str, resource: Resource) -> str:
    """The kind of patch. Raises UnsupportedMediaType, for built-in kinds with the router's text."""
    media = media_type(content_type)
    if resource.custom:
        known = [kind for kind in _PATCH_TYPES if kind != PatchType.STRATEGIC]
        if media not in known:
            raise UnsupportedMediaType(
                "the body of the request was in an unknown format - accepted media types include: "
                f"{', '.join(known)}"
            )
    elif media not in _PATCH_TYPES:
        raise UnsupportedMediaType("415: Unsupported Media Type", details={})
    return media


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip()


def has_readable_parameters(content_type: str) -> bool:
    """Whether Go reads what follows the media type: ``; name=value``, no name with two values."""
    found: dict[str, str] = {}
    at = len(content_type.partition(";")[0])
    # Each begins where the last one ended: a search would look through long blanks again and again.
    while (pair := _PARAMETER.match(content_type, at)) is not None:
        if found.setdefault(pair[1].lower(), pair[2]) != pair[2]:
            return False
        at = pair.end()
    return content_type[at:].strip() in ("", ";")


@lru_cache(maxsize=256)
def _is_routed(accept: str, offered: tuple[Media, ...]) -> bool:
    types = [clause.partition(";")[0].strip() for clause in accept.split(",")]
    known = _UNDERSTOOD if offered is SERVED else offered
    return any(kind == "*/*" or kind in known for kind in types)


@lru_cache(maxsize=256)
def _negotiated(accept: str, offer: Offer) -> Choice | None:
    for clause in _sorted(_clauses(accept)):
        for media in _UNDERSTOOD:
            if _matches(clause, media) and (choice := _choice(clause, media, offer)):
                return choice
    return None


def _clauses(accept: str) -> list[_Clause]:
    found = []
    for part in accept.split(",")[:_CLAUSES_MAX]:
        media_range, *params = part.strip(" ").split(";")
        main, _, sub = media_range.partition("/")
        main = main.strip(" ")
        if "/" in sub or (not sub and main != "*"):
            continue
        clause = _Clause(main, sub.strip(" ") if sub else "*")
        for param in params:
            name, _, value = param.partition("=")
            if not value or "=" in value:
                continue  # not even if it were one that changes the answer
            if name.strip(" ") == "q":
                clause.quality = _float(value.strip(" "))
            else:
                clause.params[name.strip(" ")] = value.strip(" ")
        found.append(clause)
    return found


def _sorted(clauses: list[_Clause]) -> list[_Clause]:
    """By insertion, with an order that is not one: a specific type passes a better wildcard."""
    for end in range(1, len(clauses)):
        at = end
        while at and _is_before(clauses[at], clauses[at - 1]):
            clauses[at - 1], clauses[at] = clauses[at], clauses[at - 1]
            at -= 1
    return clauses


def _is_before(a: _Clause, b: _Clause) -> bool:
    return (
        a.quality > b.quality
        or (a.type != "*" and b.type == "*")
        or (a.subtype != "*" and b.subtype == "*")
    )


def _matches(clause: _Clause, media: Media) -> bool:
    main, _, sub = media.value.partition("/")
    if clause.type == "*":
        return clause.subtype == "*"
    return clause.type == main and clause.subtype in (sub, "*")


def _choice(clause: _Clause, media: Media, offer: Offer) -> Choice | None:
    params = clause.params
    if "sv" in params:
        return None
    if "stream" in params and (not _is_streamed(media) or params["stream"] != "watch"):
        return None
    pretty = params.get("pretty") == "1"
    if not {"g", "v", "as"} & params.keys():
        if offer.is_custom and _needs_messages(media):
            return None
        return Choice(media, pretty=pretty)
    form, version = _FORMS.get(params.get("as", "")), params.get("v", "")
    is_known = params.get("g") == "meta.k8s.io" and version in ("v1", "v1beta1")
    if form is None or not is_known or not offer.has_forms:
        return None
    if form is Form.TABLE and (_needs_messages(media) or not offer.has_table):
        return None
    return Choice(media, form, version, pretty)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def aggregated_media(accept: str) -> Media | None:
    """The aggregated form of discovery that was asked for, None if none was (server.md §1.2)."""
    if "apidiscovery.k8s.io" not in accept:
        return None
    for clause in _clauses(accept):
        params = clause.params
        asks = (
            params.get("g") == "apidiscovery.k8s.io"
            and params.get("v") == "v2"
            and params.get("as") == "APIGroupDiscoveryList"
        )
        for media in SERVED:
            if asks and _matches(clause, media):
                return media
    return None


def accepted_type(accept: str, offered: tuple[str, ...]) -> str | None:
    """The first offered type that any clause takes, in the clauses' order; None if none does."""
    if not accept:
        return offered[0]
    for clause in _sorted(_clauses(accept)):
        for kind in offered:
            main, _, sub = kind.partition("/")
            if clause.type in (main, "*") and clause.subtype in (sub, "*"):
                return kind
    return None
