"""AdmissionReview: the body that a webhook gets, and its answer, checked. Pure."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from typing import Any

from proreus.api import go_text
from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.typed import Shape, TypeNode
from proreus.api.wire import json
from proreus.api.wire.json_syntax import explain
from proreus.lazy_dataclass import dataclass
from proreus.server.registry.declared_types import PARSE_ERROR, UnreadableType, declared_type
from proreus.server.schema.check import DecodeError, check
from proreus.server.schema.definitions import Definitions

REVIEW_VERSIONS = ("v1", "v1beta1")
_GROUP, _KIND = "admission.k8s.io", "AdmissionReview"
_SCHEME = "k8s.io/apiserver/pkg/util/webhook/client.go:71"  # as Go names what it decodes by
_TYPES = "io.k8s.api.admission.v1."
_STATUS = "io.k8s.apimachinery.pkg.apis.meta.v1.Status"


class UnreadableAnswer(Exception):
    """The answer is no AdmissionReview."""


class InvalidResponse(Exception):
    """The answer is one, and breaks its rules."""


@dataclass(frozen=True, slots=True)
class ReviewResponse:
    """``patch`` is empty where nothing is to change; ``result`` is a Status, or part of one."""

    is_allowed: bool
    result: JsonObject
    patch: bytes = b""
    patch_type: str = ""
    warnings: tuple[str, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)


def review_body(
    version: str,
    uid: str,
    request: JsonObject,
    objects: tuple[JsonObject | None, JsonObject | None],
) -> bytes:
    """``objects``: the new one and the old one."""
    obj, old = objects
    asked = {"uid": uid, **request, "object": obj, "oldObject": old}
    return json.encode({"kind": _KIND, "apiVersion": f"{_GROUP}/{version}", "request": asked})


def read_response(answer: bytes, uid: str, version: str, *, is_mutating: bool) -> ReviewResponse:
    """Raises UnreadableAnswer, InvalidResponse."""
    review = _review(answer, version)
    response = review.get("response")
    if response is None:
        raise InvalidResponse("webhook response was absent")
    found = _response(response)
    if version == "v1":
        _check(response, review, uid, is_mutating=is_mutating)
        return found
    # The older version was never checked: a patch can only be of the one type there is.
    has_patch = is_mutating and bool(found.patch)
    return ReviewResponse(
        found.is_allowed,
        found.result,
        found.patch if has_patch else b"",
        "JSONPatch" if has_patch else "",
        found.warnings,
        found.annotations,
    )


def _review(answer: bytes, version: str) -> JsonObject:
    """Of the version that was asked in, whatever the answer does not say of itself."""
    review = _document(answer)
    try:
        declared = declared_type(review)
        _check_type(declared.completed(GroupVersionKind(_GROUP, version, _KIND)), version)
        found = check(_node(), review, answer).value
    except (UnreadableType, DecodeError) as error:
        raise UnreadableAnswer(str(error)) from error
    if "response" in found and (review.get("response") or {}).get("patchType") == "":
        found["response"]["patchType"] = ""  # which is something else than none
    return found


def _check_type(given: GroupVersionKind, wanted: str) -> None:
    is_review = (given.group, given.kind) == (_GROUP, _KIND) and given.version in REVIEW_VERSIONS
    if not is_review and (given.api_version, given.kind) != ("v1", "Status"):
        raise UnreadableAnswer(
            f'no kind "{given.kind}" is registered for version "{given.api_version}" in scheme '
            f'"{_SCHEME}"'
        )
    if not is_review or given.version != wanted:
        raise UnreadableAnswer(
            f"converting ({given.version}.{given.kind}) to ({wanted}.{_KIND}): unknown conversion"
        )


def _document(answer: bytes) -> Any:
    text = answer.lstrip()
    try:
        review = json.decode(answer) if text else None
    except ValueError as error:
        if text.startswith(b"{"):
            raise UnreadableAnswer(f"{PARSE_ERROR}{explain(answer) or error}") from error
        return ""  # it is taken for YAML, in which any text is a string
    return {} if review is None else review


def _response(response: JsonObject) -> ReviewResponse:
    return ReviewResponse(
        response.get("allowed") or False,
        response.get("status") or {},
        base64.b64decode(response.get("patch") or ""),
        response.get("patchType") or "",
        tuple(response.get("warnings") or ()),
        response.get("auditAnnotations") or {},
    )


def _check(response: JsonObject, review: JsonObject, uid: str, *, is_mutating: bool) -> None:
    if (got := response.get("uid") or "") != uid:
        quoted = go_text.quoted(str(got))
        raise InvalidResponse(f"expected response.uid={go_text.quoted(uid)}, got {quoted}")
    given, wanted = declared_type(review).gvk, GroupVersionKind(_GROUP, "v1", _KIND)
    if given != wanted:
        declared = f"{given.group}/{given.version}, Kind={given.kind}"
        raise InvalidResponse(f"expected webhook response of {wanted}, got {declared}")
    has_patch, patch_type = bool(response.get("patch")), response.get("patchType")
    if not is_mutating:
        for name, is_given in (("patch", has_patch), ("patchType", patch_type is not None)):
            if is_given:
                raise InvalidResponse(f"validating webhook may not return response.{name}")
    elif has_patch and patch_type is None:
        raise InvalidResponse("webhook returned response.patch but not response.patchType")
    elif not has_patch and patch_type is not None:
        raise InvalidResponse("webhook returned response.patchType but not response.patch")
    elif patch_type == "":
        raise InvalidResponse('webhook returned invalid response.patchType of ""')


@cache
def _node() -> TypeNode:
    text = TypeNode(Shape.STRING)
    response = {
        "uid": text,
        "allowed": TypeNode(Shape.BOOLEAN),
        "status": Definitions.load().named(_STATUS),
        "patch": TypeNode(Shape.BYTES),
        "patchType": text,
        "auditAnnotations": TypeNode(Shape.MAP, element=lambda: text),
        "warnings": TypeNode(Shape.LIST, element=lambda: text),
    }
    review = {
        "kind": text,
        "apiVersion": text,
        "response": TypeNode(Shape.OBJECT, f"{_TYPES}AdmissionResponse", lambda: response),
    }
    return TypeNode(Shape.OBJECT, f"{_TYPES}{_KIND}", lambda: review)
