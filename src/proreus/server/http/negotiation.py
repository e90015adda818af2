"""Accept and Content-Type → encoding and form of an answer (spec/server §8.1, §12).

Two gates stand behind each other, as in Kubernetes: the router knows only media types and says
``406: Not Acceptable``; negotiation then looks at the parameters. Pure, and remembered per header.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from proreus.api.status import NotAcceptable, UnsupportedMediaType
from proreus.server.registry.resource import Resource


class Media(StrEnum):
    JSON = "application/json"
    YAML = "application/yaml"
    PROTOBUF = "application/vnd.kubernetes.protobuf"


SERVED = (Media.JSON, Media.YAML, Media.PROTOBUF)
_STREAMS = f"{Media.JSON};stream=watch, {Media.PROTOBUF};stream=watch"
_STRATEGIC = "application/strategic-merge-patch+json"
_PATCH_TYPES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    _STRATEGIC,
    "application/apply-patch+yaml",
)
_CLAUSES_MAX = 64  # sorting them is quadratic, and whoever sends more wants nothing good
_TRANSFORMS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


@dataclass(frozen=True, slots=True)
class Choice:
    """``kind`` "" means the object itself; ``version`` is that of meta.k8s.io."""

    media: Media = Media.JSON
    kind: str = ""
    version: str = ""
    pretty: bool = False


PLAIN = Choice()


@dataclass(slots=True)
class _Clause:
    type: str
    subtype: str
    quality: float = 1.0
    params: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What one endpoint can show. Custom resources have no protobuf but of their metadata."""

    has_table: bool = True
    is_custom: bool = False
    has_forms: bool = True  # whether it can be shown as anything but itself


_ANY = Endpoint()
AS_IT_IS = Endpoint(has_forms=False)


def negotiate(accept: str, endpoint: Endpoint = _ANY) -> Choice:
    """Raises NotAcceptable."""
    if accept in ("", "*/*", "application/json"):
        return PLAIN
    found = _negotiated(accept, endpoint)
    if found is None:
        raise NotAcceptable(f"only the following media types are accepted: {', '.join(SERVED)}")
    return found


def negotiate_stream(choice: Choice) -> None:
    """A watch needs a type that can be streamed; there is no second choice."""
    if choice.media is Media.YAML:
        raise NotAcceptable(f"only the following media types are accepted: {_STREAMS}")


def check_routed(
    accept: str, *, is_collection: bool = False, offered: tuple[Media, ...] = SERVED
) -> None:
    """The router's own look at Accept. Raises NotAcceptable."""
    if accept in ("", "*/*", "application/json") or _is_routed(accept, offered):
        return
    kinds = ", ".join(offered) + (f", {_STREAMS}" if is_collection else "")
    raise NotAcceptable(f"406: Not Acceptable\n\nAvailable representations: {kinds}", details={})


def patch_type(content_type: str, resource: Resource) -> str:
    """The kind of patch. Raises UnsupportedMediaType; built-in kinds speak the router's words."""
    media = media_type(content_type)
    if resource.custom:
        known = [kind for kind in _PATCH_TYPES if kind != _STRATEGIC]
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


@lru_cache(maxsize=256)
def _is_routed(accept: str, offered: tuple[Media, ...]) -> bool:
    types = [clause.partition(";")[0].strip() for clause in accept.split(",")]
    return any(kind == "*/*" or kind in offered for kind in types)


@lru_cache(maxsize=256)
def _negotiated(accept: str, endpoint: Endpoint) -> Choice | None:
    for clause in _sorted(_clauses(accept)):
        for media in SERVED:
            if _matches(clause, media) and (choice := _choice(clause, media, endpoint)):
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


def _choice(clause: _Clause, media: Media, endpoint: Endpoint) -> Choice | None:
    params = clause.params
    if "sv" in params:
        return None
    if "stream" in params and (media is Media.YAML or params["stream"] != "watch"):
        return None
    pretty = params.get("pretty") == "1"
    if not {"g", "v", "as"} & params.keys():
        if endpoint.is_custom and media is Media.PROTOBUF:
            return None
        return Choice(media, pretty=pretty)
    kind, version = params.get("as", ""), params.get("v", "")
    known = (
        params.get("g") == "meta.k8s.io" and version in ("v1", "v1beta1") and kind in _TRANSFORMS
    )
    if not known or not endpoint.has_forms:
        return None
    if kind == "Table" and (media is Media.PROTOBUF or not endpoint.has_table):
        return None
    return Choice(media, kind, version, pretty)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def aggregated_media(accept: str) -> Media | None:
    """How aggregated discovery was asked for, whatever else was; None if it was not (§1.2)."""
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
