"""What is said to a conversion webhook, and which of its answers count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proreus.api.wire import json
from proreus.server.custom.conversion.review import BadReview, Review

_FOR = "conversion webhook for example.com/v1, Kind=Widget "
_AT_1 = f"{_FOR}returned invalid converted object at index 1: "
Json = dict[str, Any]


def widget(name: str, version: str = "v1", **metadata: Any) -> Json:
    meta = {"name": name, "uid": f"uid-{name}", **metadata}
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": meta}


def review(*names: str, version: str = "v1") -> Review:
    return Review(
        "1", version, "example.com/v2", [widget(name, labels={"a": "b"}) for name in names]
    )


def answer(*objects: Any, version: str = "v1", **response: Any) -> bytes:
    response_body = {"uid": "1", "result": {"status": "Success"}, "convertedObjects": list(objects)}
    return json.encode(
        {
            "apiVersion": f"apiextensions.k8s.io/{version}",
            "kind": "ConversionReview",
            "response": {**response_body, **response},
        }
    )


def test_the_question_names_the_wanted_version_and_the_objects() -> None:
    asked = json.decode(review("a", "b").body())

    assert asked["apiVersion"] == "apiextensions.k8s.io/v1"
    assert asked["kind"] == "ConversionReview"
    assert asked["request"]["uid"] == "1"
    assert asked["request"]["desiredAPIVersion"] == "example.com/v2"
    assert [obj["metadata"]["name"] for obj in asked["request"]["objects"]] == ["a", "b"]


def test_labels_and_annotations_are_taken_the_rest_of_metadata_is_kept() -> None:
    made = widget("a", "v2", labels={"c": "d"}, annotations={"e": "f"}, finalizers=["x"])

    (found,) = review("a").converted(answer(made))

    assert found["apiVersion"] == "example.com/v2"
    assert found["metadata"] == {
        "name": "a",
        "uid": "uid-a",
        "labels": {"c": "d"},
        "annotations": {"e": "f"},
    }


def test_labels_that_are_gone_are_gone() -> None:
    (found,) = review("a").converted(answer(widget("a", "v2")))

    assert "labels" not in found["metadata"]


def test_the_older_review_needs_neither_uid_nor_type() -> None:
    response_body = answer(widget("a", "v2"), version="v9", uid="other")

    assert len(review("a", version="v1beta1").converted(response_body)) == 1


_ONE: Callable[..., Review] = lambda: review("a")  # noqa: E731
_TWO: Callable[..., Review] = lambda: review("a", "b")  # noqa: E731
GOOD = widget("a", "v2")
WRONG: list[tuple[Callable[..., Review], bytes, str]] = [
    (_ONE, b"[]", "failed: expected webhook response of apiextensions.k8s.io/v1, "
     "Kind=ConversionReview, got /, Kind="),
    (_ONE, answer(GOOD, version="v9"), "failed: expected webhook response of apiextensions.k8s.io/"
     "v1, Kind=ConversionReview, got apiextensions.k8s.io/v9, Kind=ConversionReview"),
    (_ONE, json.encode({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}),
     "failed: no response provided"),
    (_ONE, answer(GOOD, uid="2"), 'failed: expected response.uid="1", got "2"'),
    (_ONE, answer(GOOD, result={"status": "Failure", "message": "I will not"}),
     "failed: I will not"),
    (_ONE, answer(GOOD, result={}), "failed: response.result.status was '', not 'Success'"),
    (_ONE, answer(), "returned 0 objects, expected 1"),
    (_ONE, answer(GOOD, GOOD), "returned 2 objects, expected 1"),
    (_ONE, answer(widget("a", "v3")), "returned invalid object at index 0: invalid groupVersion "
     "(expected example.com/v2, received example.com/v3)"),
    (_ONE, answer({**GOOD, "kind": "Gear"}), "returned invalid object at index 0: invalid kind "
     "(expected Widget, received Gear)"),
    (_ONE, answer({**GOOD, "metadata": {"name": "a"}}),
     "returned invalid object: must have the same UID: uid-a != "),
    (_ONE, answer(widget("a", "v2", labels={"a": 1})),
     "returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted "
     "object"),
    (_ONE, answer(widget("a", "v2", annotations=[])),
     "returned invalid metadata: invalid metadata.annotations of type []interface {} in converted "
     "object"),
    (_ONE, answer(widget("a", "v2", labels={"a": "b c"})),
     'returned invalid metadata: metadata.labels: Invalid value: "b c": a valid label must be'),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "response_body", "message"), WRONG)
def test_an_answer_that_is_none_says_why(
    asked: Callable[..., Review], response_body: bytes, message: str
) -> None:
    with pytest.raises(BadReview) as refused:
        asked().converted(response_body)

    assert str(refused.value).startswith(_FOR + message)


def test_of_several_objects_the_bad_one_is_named() -> None:
    with pytest.raises(BadReview) as refused:
        _TWO().converted(answer(GOOD, widget("c", "v2")))

    assert str(refused.value) == f"{_AT_1}must have the same name: b != c"


def test_an_answer_that_is_no_json_says_so() -> None:
    with pytest.raises(BadReview, match="failed: couldn't get version/kind; json parse error"):
        _ONE().converted(b"<html>")
