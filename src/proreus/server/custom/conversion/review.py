"""ConversionReview: the request to a webhook, and the validation of its response. Pure.

Kubernetes' rules: as many objects as were sent, in their order, each of the wanted version and of
the same kind, name, namespace and uid. Of metadata only labels and annotations may change; whatever
else the webhook did to it is undone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proreus.api import field_error, go_text
from proreus.api.group_version import GroupVersion
from proreus.api.json_types import JsonObject
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.server.registry.metadata_rules import annotation_violations, label_violations

GROUP = "apiextensions.k8s.io"
KNOWN_VERSIONS = ("v1", "v1beta1")
_KIND = "ConversionReview"
_SAME = (("name", "name"), ("namespace", "namespace"), ("UID", "uid"))


class BadReview(Exception):
    """The webhook refused, or its response is invalid."""


@dataclass(frozen=True, slots=True)
class Review:
    """A request to convert ``objects`` to the version ``desired``."""

    uid: str
    version: str  # of the review itself
    desired: str
    objects: Sequence[JsonObject]

    @property
    def source(self) -> str:
        """What is converted, as messages name it."""
        return named(self.objects[0])

    def body(self) -> bytes:
        return json.encode(
            {
                "kind": _KIND,
                "apiVersion": f"{GROUP}/{self.version}",
                "request": {
                    "uid": self.uid,
                    "desiredAPIVersion": self.desired,
                    "objects": list(self.objects),
                },
            }
        )

    def converted(self, answer: bytes) -> list[JsonObject]:
        """The objects of the answer. Raises BadReview with the whole message."""
        try:
            found = self._objects(answer)
        except BadReview as bad:
            raise BadReview(f"conversion webhook for {self.source} failed: {bad}") from bad
        if len(found) != len(self.objects):
            raise BadReview(
                f"conversion webhook for {self.source} returned {len(found)} objects, "
                f"expected {len(self.objects)}"
            )
        pairs = zip(self.objects, found, strict=True)
        return [self._checked(at, original, made) for at, (original, made) in enumerate(pairs)]

    def _objects(self, answer: bytes) -> list[Any]:
        try:
            review = json.decode(answer)
        except ValueError as error:
            raise BadReview(f"couldn't get version/kind; json parse error: {error}") from error
        review = review if isinstance(review, dict) else {}
        if self.version == "v1":
            wanted = f"{GROUP}/v1, Kind={_KIND}"
            if (got := named(review)) != wanted:
                raise BadReview(f"expected webhook response of {wanted}, got {got}")
        response = review.get("response")
        if not isinstance(response, dict):
            raise BadReview("no response provided")
        if self.version == "v1" and response.get("uid") != self.uid:
            got = go_text.quoted(str(response.get("uid") or ""))
            raise BadReview(f"expected response.uid={go_text.quoted(self.uid)}, got {got}")
        result = response.get("result")
        result = result if isinstance(result, dict) else {}
        if (status := result.get("status") or "") != "Success":
            why = f"response.result.status was '{status}', not 'Success'"
            raise BadReview(result.get("message") or why)
        found = response.get("convertedObjects")
        return found if isinstance(found, list) else []

    def _checked(self, at: int, original: JsonObject, made: Any) -> JsonObject:
        begin = f"conversion webhook for {named(original)} "
        is_one = len(self.objects) == 1
        where = f"{begin}returned invalid converted object at index {at}: "
        if not isinstance(made, dict):
            why = f"Object 'Kind' is missing in '{json.encode(made).decode()}'"
            raise BadReview(f"{begin}failed: {why}" if is_one else where + why)
        version, kind = made.get("apiVersion") or "", made.get("kind") or ""
        for word, wanted, got in (
            ("groupVersion", self.desired, version),
            ("kind", original["kind"], kind),
        ):
            if got != wanted:
                why = f"invalid {word} (expected {wanted}, received {got})"
                of_one = f"{begin}returned invalid object at index 0: "
                raise BadReview((of_one if is_one else where) + why)
        meta = made.get("metadata")
        theirs: Mapping[str, Any] = meta if isinstance(meta, dict) else {}
        for word, field in _SAME:
            before, after = original["metadata"].get(field) or "", theirs.get(field) or ""
            if before != after:
                why = f"must have the same {word}: {before} != {after}"
                raise BadReview((f"{begin}returned invalid object: " if is_one else where) + why)
        try:
            kept = _restored(original["metadata"], meta)
        except BadReview as bad:
            place = "metadata" if is_one else f"metadata in object at index {at}"
            raise BadReview(f"{begin}returned invalid {place}: {bad}") from bad
        return {**made, "metadata": kept}


def _restored(original: Mapping[str, Any], made: Any) -> JsonObject:
    """The original metadata with the labels and annotations of the answer."""
    if made is None:
        raise BadReview("missing metadata in converted object")
    if not isinstance(made, dict):
        raise BadReview(f"invalid metadata of type {go_text.type_name(made)} in converted object")
    kept = dict(original)
    for field, violations in (("labels", label_violations), ("annotations", annotation_violations)):
        given = made.get(field)
        if given is None:
            kept.pop(field, None)
            continue
        if not isinstance(given, dict):
            raise BadReview(
                f"invalid metadata.{field} of type {go_text.type_name(given)} in converted object"
            )
        for key, value in given.items():
            if not isinstance(value, str):
                raise BadReview(
                    f"metadata.{field}[{key}] must be a string, but is {go_text.type_name(value)} "
                    "in converted object"
                )
        if given != (original.get(field) or {}) and (
            wrong := violations(given, f"metadata.{field}")
        ):
            raise BadReview(field_error.join(wrong))
        kept[field] = given
    return kept


def named(obj: Mapping[str, Any]) -> str:
    """``example.com/v1, Kind=Widget``"""
    version = GroupVersion.parse(str(obj.get("apiVersion") or ""))
    return f"{version.group}/{version.version}, Kind={obj.get('kind') or ''}"
