"""One request as ``audit.k8s.io/v1`` events: what is known of it, and its line at each stage.

Pure. The fields and their order are those kube-apiserver writes. Credentials are never among them:
headers are not recorded but for User-Agent and the addresses of proxies, tokens in a URL are
masked, and so are those in the bodies of TokenRequests and TokenReviews. What else a body holds,
Secrets included, is recorded if the policy asks for bodies.

Cost of a write at level Metadata: 4 µs, and 1 µs per stage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from proreus.api.json_types import JsonObject
from proreus.api.values.names import parse_ip
from proreus.api.values.timestamp import format_micro_time
from proreus.api.wire import json
from proreus.api.wire.path import ApiPath, Path
from proreus.server.audit.policy import Level, Recording, Stage
from proreus.server.registry.user import User

# A longer body is not recorded, as kube-apiserver's truncating back end does.
BODY_BYTES_MAX = 10 * 1024 * 1024
MASK = "[redacted]"
_TRUNCATED = "audit.k8s.io/truncated"
PREFIX = b'{"kind":"Event","apiVersion":"audit.k8s.io/v1",'
_API_VERSION = "audit.k8s.io/v1"
_ACRONYMS = {"audit_id": "auditID", "request_uri": "requestURI", "source_ips": "sourceIPs"}
_NOTHING = msgspec.Raw(b"")
_USER_AGENT_MAX = 1024
_TOKEN_PARAMETER = re.compile(r"(?i)((?:^|[?&;])(?:access_|id_|refresh_)?token=)[^&;]*")
_STATUS_FIELDS = ("status", "message", "reason", "details", "code")
_TOKEN_KINDS = frozenset(
    {("authentication.k8s.io", "tokenreviews", ""), ("", "serviceaccounts", "token")}
)


_encoder = msgspec.json.Encoder()


class AuditedRequest(NamedTuple):
    """``user`` None: one that could not be authenticated. ``peer``: the address it came from."""

    audit_id: str
    user: User | None
    verb: str
    target: Path
    path: str
    uri: str  # as it was sent
    headers: Mapping[str, str]
    peer: str


def _renamed(name: str) -> str:
    first, *more = name.split("_")
    return _ACRONYMS.get(name) or first + "".join(map(str.capitalize, more))


class _ObjectReference(msgspec.Struct, omit_defaults=True, rename="camel"):
    resource: str
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_group: str = ""
    api_version: str = ""
    resource_version: str = ""
    subresource: str = ""


class _Event(
    msgspec.Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="Event", rename=_renamed
):
    """On the wire; what is empty is left out."""

    api_version: str
    level: str
    audit_id: str
    stage: str
    request_uri: str
    verb: str
    user: JsonObject
    impersonated_user: JsonObject | None = None
    authentication_metadata: JsonObject | None = None
    source_ips: list[str] = []
    user_agent: str = ""
    object_ref: _ObjectReference | None = None
    response_status: JsonObject | None = None
    request_object: msgspec.Raw = _NOTHING
    response_object: msgspec.Raw = _NOTHING
    request_received_timestamp: str
    stage_timestamp: str
    annotations: dict[str, str] = {}


class AuditEvent:
    """Filled while the request is handled; ``encode`` makes the line of a stage of what is known.

    ``has_started``: a stream has begun.
    """

    __slots__ = ("_fields", "_has_token", "has_started", "recording", "request")

    def __init__(self, recording: Recording, request: AuditedRequest, received_s: float) -> None:
        self.recording = recording
        self.request = request
        self.has_started = False
        self._has_token = False
        reference = None
        target = request.target
        if isinstance(target, ApiPath):
            group, version, resource, namespace, name, subresource, *_ = target
            self._has_token = (group, resource, subresource) in _TOKEN_KINDS
            reference = _ObjectReference(
                resource, namespace, name, "", group, version, "", subresource
            )
        received = format_micro_time(received_s)
        self._fields = _Event(
            api_version=_API_VERSION,
            level=recording.level.value,
            audit_id=request.audit_id,
            stage="",
            request_uri=masked_uri(request.uri),
            verb=request.verb,
            user=request.user.to_wire() if request.user is not None else {},
            source_ips=source_ips(request.headers, request.peer),
            user_agent=shortened_agent(request.headers.get("User-Agent", "")),
            object_ref=reference,
            request_received_timestamp=received,
            stage_timestamp=received,
        )

    @property
    def wants_response(self) -> bool:
        """Whether the body of the answer is recorded."""
        return self.recording.level is Level.REQUEST_RESPONSE

    @property
    def has_status(self) -> bool:
        """Whether it is known how the request was answered."""
        return self._fields.response_status is not None

    def set_impersonated(self, user: User, constraint: str) -> None:
        """``constraint``: the verb by which it was allowed, "" if that was the unconstrained."""
        self._fields.impersonated_user = user.to_wire()
        if constraint:
            self._fields.authentication_metadata = {"impersonationConstraint": constraint}

    def set_request_object(self, obj: Mapping[str, Any]) -> None:
        """A decoded body; it completes what the path says of the object."""
        ref, metadata = self._fields.object_ref, obj.get("metadata")
        if ref is not None and isinstance(metadata, dict):
            ref.namespace = ref.namespace or metadata.get("namespace") or ""
            ref.name = ref.name or metadata.get("name") or ""
            ref.uid = metadata.get("uid") or ""
            ref.resource_version = metadata.get("resourceVersion") or ""
        if self.recording.level.has_request:
            self._fields.request_object = self._line(lambda: json.encode(obj))

    def set_request_patch(self, patch: bytes) -> None:
        """A patch as it was sent: JSON or YAML."""
        if self.recording.level.has_request:
            self._fields.request_object = self._line(lambda: json.encode(_decoded(patch)))

    def set_response_object(self, body: bytes) -> None:
        """The JSON of an answer."""
        if self.wants_response:
            self._fields.response_object = self._line(body.strip)

    def set_decision(self, *, is_allowed: bool, reason: str) -> None:
        annotations = self._fields.annotations
        annotations["authorization.k8s.io/decision"] = "allow" if is_allowed else "forbid"
        annotations["authorization.k8s.io/reason"] = reason

    def set_decision_failure(self, reason: str) -> None:
        """An authorizer failed, so that there is no decision."""
        self._fields.annotations["authorization.k8s.io/reason"] = reason

    def annotate(self, key: str, value: str) -> None:
        self._fields.annotations[key] = value

    def set_status_answer(self, status: Mapping[str, Any]) -> None:
        """The Status that is the answer, of a failure or of a delete."""
        self.set_response_status(status)
        if self.wants_response:
            self._fields.response_object = self._line(lambda: json.encode(status))

    def set_response_status(self, status: Mapping[str, Any]) -> None:
        copied = {name: status[name] for name in _STATUS_FIELDS if status.get(name)}
        self._fields.response_status = {"metadata": {}, **copied}

    def set_response_code(self, code: int) -> None:
        if self._fields.response_status is None:
            self._fields.response_status = {"metadata": {}, "code": code}
        else:
            self._fields.response_status["code"] = code

    def omit_bodies(self) -> None:
        """They are too large to be recorded."""
        self._fields.request_object = self._fields.response_object = _NOTHING
        self.annotate(_TRUNCATED, "true")

    def encode_without_bodies(self) -> bytes:
        """The line of the present stage for a back end that takes no long ones."""
        fields = self._fields
        kept = fields.request_object, fields.response_object, fields.annotations
        fields.request_object = fields.response_object = _NOTHING
        if self.recording.level.has_request:
            fields.annotations = {**fields.annotations, _TRUNCATED: "true"}
        try:
            return self._encoded()
        finally:
            fields.request_object, fields.response_object, fields.annotations = kept

    def encode(self, stage: Stage, at_s: float | None = None) -> bytes:
        """One line, without its line feed. ``at_s`` None: when the request was received."""
        fields = self._fields
        fields.stage = stage.value
        if at_s is not None:
            fields.stage_timestamp = format_micro_time(at_s)
        return self._encoded()

    def _encoded(self) -> bytes:
        try:
            return _encoder.encode(self._fields)
        except UnicodeEncodeError:
            return _encoder.encode(_readable(msgspec.to_builtins(self._fields)))

    def _line(self, make: Callable[[], bytes]) -> msgspec.Raw:
        """A body on one line and without what is not to be recorded; nothing if it is too long, or
        so deep or broken that it cannot be written."""
        try:
            body = make()
            if self._has_token or self.recording.omit_managed_fields or b"\n" in body:
                value = json.decode(body)
                if self._has_token:
                    _mask_token(value)
                if self.recording.omit_managed_fields:
                    remove_managed_fields(value)
                body = json.encode(value)
        except (ValueError, TypeError):  # what decoding and encoding raise
            body = b""
        if not body or len(body) > BODY_BYTES_MAX:
            self.omit_bodies()
            return _NOTHING
        return msgspec.Raw(body)

    def __repr__(self) -> str:
        return f"<AuditEvent {self.request.audit_id}: {self.request.verb} {self.request.path}>"


def masked_uri(uri: str) -> str:
    return _TOKEN_PARAMETER.sub(rf"\1{MASK}", uri) if "token=" in uri.lower() else uri


def shortened_agent(agent: str) -> str:
    return agent if len(agent) <= _USER_AGENT_MAX else f"{agent[:_USER_AGENT_MAX]}...TRUNCATED"


def source_ips(headers: Mapping[str, str], peer: str) -> list[str]:
    """Where the request comes from, as proxies tell it; only the last one is known for sure."""
    found: list[str] = []
    if "X-Forwarded-For" in headers:
        parts = headers["X-Forwarded-For"].split(",")
        found = [str(ip) for part in parts if (ip := parse_ip(part.strip()))]
    if "X-Real-Ip" in headers:
        ip = parse_ip(headers["X-Real-Ip"])
        if ip is not None and str(ip) not in found:
            found.append(str(ip))
    if peer and (not found or found[-1] != peer):
        found.append(peer)
    return found


def remove_managed_fields(value: Any) -> None:
    """Of an object, of the items of a list, of the objects in a table's rows."""
    if not isinstance(value, dict):
        return
    if isinstance(metadata := value.get("metadata"), dict):
        metadata.pop("managedFields", None)
    if value.get("kind") == "Table":
        for row in value.get("rows") or ():
            remove_managed_fields(row.get("object"))
    elif isinstance(items := value.get("items"), list):
        for item in items:
            remove_managed_fields(item)


def _mask_token(value: Any) -> None:
    """Of a TokenReview or TokenRequest."""
    for part in ("spec", "status"):
        fields = value.get(part) if isinstance(value, dict) else None
        if isinstance(fields, dict) and "token" in fields:
            fields["token"] = MASK


def _decoded(patch: bytes) -> Any:
    try:
        return json.decode(patch)
    except json.JSONDecodeError:
        from proreus.api.wire import yaml  # slow to load, and patches are JSON nearly always

        return yaml.decode_strict(patch)[0]


def _readable(value: Any) -> Any:
    """Bytes of headers that are no text arrive as lone surrogates, which nothing can write."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_readable(key): _readable(item) for key, item in value.items()}
    return [_readable(item) for item in value] if isinstance(value, list) else value
