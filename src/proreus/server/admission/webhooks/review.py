"""AdmissionReview: the body that a webhook gets, and its answer, checked. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from proreus.api import go_text
from proreus.api.group_version import GroupVersion
from proreus.api.json_types import JsonObject
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass

_GO_TYPES = {"code": "int32", "details": "v1.StatusDetails", "metadata": "v1.ListMeta"}
_GROUP, _KIND = "admission.k8s.io", "AdmissionReview"


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
    review = _review(answer)
    response = review.get("response")
    if response is None:
        raise InvalidResponse("webhook response was absent")
    if not isinstance(response, dict):
        raise _mistyped(response, "response", "v1.AdmissionResponse")
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


def _review(answer: bytes) -> JsonObject:
    if not answer:
        raise UnreadableAnswer("0-length response with status code: 200 and content type: ")
    try:
        review = json.decode(answer)
    except ValueError as error:
        raise UnreadableAnswer(f"couldn't get version/kind; json parse error: {error}") from error
    if not isinstance(review, dict):
        why = go_text.mistyped(review, "struct")
        raise UnreadableAnswer(f"couldn't get version/kind; json parse error: {why}")
    declared, version = review.get("kind"), review.get("apiVersion")
    if not declared:
        text = answer[:1024].decode("utf-8", "replace")
        raise UnreadableAnswer(f"Object 'Kind' is missing in '{text}'")
    if not (isinstance(declared, str) and isinstance(version, str)):
        raise UnreadableAnswer("couldn't get version/kind; json parse error")
    if declared != _KIND or version not in (f"{_GROUP}/v1", f"{_GROUP}/v1beta1"):
        raise UnreadableAnswer(f'no kind "{declared}" is registered for version "{version}"')
    return review


def _response(response: JsonObject) -> ReviewResponse:
    allowed = response.get("allowed") or False
    patch_type = response.get("patchType")
    result, warnings = response.get("status") or {}, response.get("warnings") or []
    annotations = response.get("auditAnnotations") or {}
    if not isinstance(allowed, bool):
        raise _mistyped(allowed, "response.allowed", "bool")
    if patch_type is not None and not isinstance(patch_type, str):
        raise _mistyped(patch_type, "response.patchType", "v1.PatchType")
    if not isinstance(result, dict):
        raise _mistyped(result, "response.status", "v1.Status")
    if not isinstance(warnings, list):
        raise _mistyped(warnings, "response.warnings", "[]string")
    for text in warnings:
        if not isinstance(text, str):
            raise _mistyped(text, "response.warnings", "string")
    if not isinstance(annotations, dict):
        raise _mistyped(annotations, "response.auditAnnotations", "map[string]string")
    for text in annotations.values():
        if not isinstance(text, str):
            raise _mistyped(text, "response.auditAnnotations", "string")
    return ReviewResponse(
        allowed,
        _status(result),
        _patch(response.get("patch")),
        patch_type or "",
        tuple(warnings),
        annotations,
    )


def _status(result: JsonObject) -> JsonObject:
    """Only what a Status has, each of its type."""
    kinds: dict[str, type] = {"code": int, "details": dict, "metadata": dict}
    kinds |= dict.fromkeys(("status", "message", "reason", "kind", "apiVersion"), str)
    for name, kind in kinds.items():
        value = result.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise _mistyped(value, f"response.status.{name}", _GO_TYPES.get(name, "string"))
    return {name: result[name] for name in kinds if result.get(name) is not None}


def _patch(given: Any) -> bytes:
    if given is None:
        return b""
    if not isinstance(given, str):
        raise _mistyped(given, "response.patch", "[]uint8")
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UnreadableAnswer("illegal base64 data at input byte 0") from error


def _check(response: JsonObject, review: JsonObject, uid: str, *, is_mutating: bool) -> None:
    if (got := response.get("uid") or "") != uid:
        quoted = go_text.quoted(str(got))
        raise InvalidResponse(f"expected response.uid={go_text.quoted(uid)}, got {quoted}")
    wanted = str(GroupVersion(_GROUP, "v1").kind(_KIND))
    if (declared := str(GroupVersion.parse(review["apiVersion"]).kind(review["kind"]))) != wanted:
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


def _mistyped(value: Any, field: str, wanted: str) -> UnreadableAnswer:
    kind = go_text.json_kind(value)
    return UnreadableAnswer(
        f"json: cannot unmarshal {kind} into Go struct field AdmissionReview.{field} "
        f"of type {wanted}"
    )
