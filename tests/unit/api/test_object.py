"""KubeObject: bytes with a header, read-only, decoded when asked."""

from __future__ import annotations

import copy
import operator
import pickle
from typing import Any

import pytest

from proreus.api import object as object_module
from proreus.api.frozen import FrozenList, FrozenMapping, thaw
from proreus.api.object import KubeObject, ObjectDecodeError, ObjectKey, encode
from proreus.api.object_list import ListDecoder, ObjectList
from proreus.api.wire import json

POD: dict[str, Any] = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {
        "name": "web",
        "namespace": "default",
        "uid": "u-1",
        "resourceVersion": "42",
        "labels": {"app": "web"},
        "annotations": {"note": "a"},
    },
    "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i", "ports": []}]},
    "status": {},
}


def pod() -> KubeObject:
    return KubeObject.from_dict(POD)


def test_the_header_is_known_without_decoding() -> None:
    web = pod()

    assert (web.name, web.namespace, web.uid, web.resource_version) == (
        "web",
        "default",
        "u-1",
        "42",
    )
    assert (web.api_version, web.kind, web.key) == ("v1", "Pod", "default/web")
    assert web.labels == {"app": "web"}
    assert web._decoded is None


def test_fields_read_by_attribute_and_by_key() -> None:
    web = pod()

    assert web.spec.nodeName == "n1"
    assert web["spec"]["containers"][0]["image"] == "i"
    assert web.spec.containers[0].image == "i"
    assert web["metadata"].annotations.note == "a"
    assert web.annotations == {"note": "a"}
    assert web.apiVersion == "v1"


def test_an_absent_field_is_none_by_attribute_and_a_key_error_by_key() -> None:
    web = pod()

    assert web.status.podIP is None
    assert web.metadata.deletionTimestamp is None
    assert web.get("data", "other") == "other"
    with pytest.raises(KeyError):
        web["data"]
    assert not hasattr(web, "__array__")


def test_a_field_named_like_a_keyword_takes_an_underscore() -> None:
    rule = FrozenMapping({"from": [1]})

    assert rule.from_ == [1]


def test_nothing_can_be_changed() -> None:
    web = pod()

    for change in (
        lambda: setattr(web, "name", "x"),
        lambda: setattr(web, "spec", {}),
        lambda: web.__setitem__("spec", {}),
        lambda: web.__delitem__("spec"),
        lambda: delattr(web, "name"),
        lambda: setattr(web.spec, "nodeName", "n2"),
        lambda: web.spec.__setitem__("nodeName", "n2"),
        lambda: web.spec.__delitem__("nodeName"),
        lambda: delattr(web.spec, "nodeName"),
        lambda: web.spec.containers.__setitem__(0, {}),
        lambda: web.spec.containers.__delitem__(0),
        lambda: setattr(web.spec.containers, "x", {}),
        lambda: web.labels.__setitem__("app", "x"),  # type: ignore[index]
    ):
        with pytest.raises((TypeError, AttributeError)):
            change()
    assert web == POD


def test_the_refusal_says_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"cannot set 'nodeName'.*to_dict\(\)"):
        pod().spec.nodeName = "n2"


def test_to_dict_is_fresh_every_time() -> None:
    web = pod()

    mine = web.to_dict()
    mine["spec"]["nodeName"] = "n2"

    assert web.spec.nodeName == "n1"
    assert web.to_dict() == POD
    assert web.spec.to_dict() == POD["spec"]
    assert web.spec.containers.to_list() == POD["spec"]["containers"]


def test_equality_is_of_contents() -> None:
    same = KubeObject.from_bytes(b" " + json.encode(dict(reversed(POD.items()))))
    other = KubeObject.from_dict({**POD, "status": {"phase": "Running"}})

    assert pod() == same
    assert hash(pod()) == hash(same)
    assert pod() != other
    assert pod() == POD
    assert pod() != 1
    assert pod().spec == pod().spec == POD["spec"]
    assert pod().spec.containers == POD["spec"]["containers"]
    assert pod().spec != pod().status


def test_it_says_what_it_is() -> None:
    assert repr(pod()) == "<Pod default/web at version 42>"
    assert repr(KubeObject.from_dict({"kind": "Node", "metadata": {"name": "n"}})) == "<Node n>"
    assert repr(KubeObject.from_bytes(b"{}")) == "<object without a name>"


def test_it_copies_and_pickles() -> None:
    web = pod()

    assert copy.copy(web) is web
    assert copy.deepcopy([web])[0] is web
    assert pickle.loads(pickle.dumps(web)) == web
    assert pickle.loads(pickle.dumps(web.spec)) == web.spec
    assert copy.deepcopy(web.spec.containers) == POD["spec"]["containers"]


def test_it_is_a_mapping_for_whoever_asks() -> None:
    from collections.abc import Mapping

    assert isinstance(pod(), Mapping)
    assert dict(pod()) == POD
    assert list(pod().keys()) == list(POD)
    assert len(pod()) == 5
    assert "spec" in pod()
    assert isinstance(pod().spec, Mapping)
    assert isinstance(dict(pod().items())["spec"], FrozenMapping)
    assert isinstance(next(iter(pod().spec.containers)), FrozenMapping)
    assert isinstance(pod().spec.containers[:1], FrozenList)


def test_the_kind_stands_in_where_the_bytes_lack_it() -> None:
    for raw in (b'{"metadata":{"name":"a"}}', b' { "metadata" : {"name":"a"}}'):
        obj = KubeObject.from_bytes(raw, api_version="apps/v1", kind="Deployment")
        assert obj.to_dict() == {
            "kind": "Deployment",
            "apiVersion": "apps/v1",
            "metadata": {"name": "a"},
        }
    empty = KubeObject.from_bytes(b"{ }", api_version="v1", kind="Pod")
    assert empty.to_dict() == {"kind": "Pod", "apiVersion": "v1"}
    assert KubeObject.from_bytes(pod().raw, api_version="x/v1", kind="X").kind == "Pod"


def test_null_metadata_and_labels_are_empty() -> None:
    assert KubeObject.from_bytes(b'{"metadata":null}').labels == {}
    assert KubeObject.from_bytes(b'{"metadata":{"labels":null}}').labels == {}
    assert KubeObject.from_bytes(b"{}").annotations == {}


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"metadata":', b'{"metadata":{"name":1}}', b"{}x"])
def test_other_bytes_are_refused(raw: bytes) -> None:
    with pytest.raises(ObjectDecodeError):
        KubeObject.from_bytes(raw)


def test_views_may_be_written_back() -> None:
    body = {"metadata": {"name": "b"}, "spec": pod().spec}

    assert json.decode(encode(body))["spec"] == POD["spec"]
    assert encode(pod()) is not None
    assert thaw((pod().spec,)) == [POD["spec"]]
    assert KubeObject.from_dict(pod()) == pod()


def test_only_the_latest_decoded_objects_keep_their_decoded_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(object_module, "_KEPT_DECODED", 2)
    monkeypatch.setattr(object_module, "_decoded_objects", type(object_module._decoded_objects)())
    pods = [pod() for _ in range(4)]

    for one in pods:
        assert one.spec.nodeName == "n1"

    assert [one._decoded is not None for one in pods] == [False, False, True, True]
    assert pods[0].spec.nodeName == "n1"


def test_object_keys_parse_and_print() -> None:
    assert str(ObjectKey.parse("a/b")) == "a/b"
    assert ObjectKey.parse("b") == ObjectKey("", "b")
    assert str(ObjectKey("", "b")) == "b"


def decode_list(body: bytes) -> ObjectList:
    decoder = ListDecoder(body)
    while decoder.step():
        pass
    return decoder.result()


def test_a_list_comes_apart() -> None:
    body = (
        b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"c",'
        b'"remainingItemCount":3},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}'
    )
    found = decode_list(body)

    assert [str(one.group_version_kind) for one in found] == ["v1, Kind=Pod"] * 2
    assert [one.name for one in found] == ["a", "b"]
    assert (found.resource_version, found.continue_token, found.remaining_item_count) == (
        "9",
        "c",
        3,
    )
    assert found.items[0].to_dict()["kind"] == "Pod"
    assert repr(found) == "<PodList of 2 at version 9, more to come>"


def test_a_list_can_be_decoded_in_steps() -> None:
    items = [{"metadata": {"name": str(n)}} for n in range(5)]
    body = json.encode({"kind": "PodList", "apiVersion": "v1", "items": items})
    decoder = ListDecoder(body)

    assert [decoder.step(2), decoder.step(2), decoder.step(2)] == [True, True, False]
    assert [one.name for one in decoder.result()] == ["0", "1", "2", "3", "4"]


def test_an_empty_list_has_null_or_no_items() -> None:
    assert len(decode_list(b'{"kind":"PodList","apiVersion":"v1","items":null}')) == 0
    assert len(decode_list(b'{"kind":"PodList","apiVersion":"v1"}')) == 0


def test_a_mixed_list_keeps_each_kind() -> None:
    body = b'{"kind":"List","apiVersion":"v1","items":[{"kind":"A","apiVersion":"x/v1"}]}'

    assert str(decode_list(body).items[0].group_version_kind) == "x/v1, Kind=A"


@pytest.mark.parametrize("body", [b"", b'{"kind":"Table","items":[]}', b"{}", b'{"kind":"A'])
def test_what_is_no_list_is_refused(body: bytes) -> None:
    with pytest.raises(ObjectDecodeError):
        decode_list(body)


def test_a_field_asked_for_in_snake_case_raises_and_says_how_it_is_spelled() -> None:
    web = pod()

    for owner, name, meant in (
        (web.metadata, "deletion_timestamp", "deletionTimestamp"),
        (web["metadata"], "resource_version", "resourceVersion"),
        (web.get("metadata"), "owner_references", "ownerReferences"),
        (web.spec, "node_name", "nodeName"),
        (web.spec.containers[0], "image_pull_policy", "imagePullPolicy"),
        (web.status, "pod_ip", "podIP"),
        (web.status, "host_ips", "hostIPs"),
        (web.spec, "host_pid", "hostPID"),
        (web, "deletion_timestamp", "metadata.deletionTimestamp"),
    ):
        with pytest.raises(AttributeError, match=f"did you mean '{meant}'"):
            getattr(owner, name)
    assert not hasattr(web.metadata, "deletion_timestamp")
    assert getattr(web.spec, "node_name", "n0") == "n0"


def test_a_field_that_metadata_does_not_have_raises() -> None:
    web = pod()

    with pytest.raises(AttributeError, match="did you mean 'finalizers'"):
        _ = web.metadata.finalizer  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="ObjectMeta has no field 'colour'"):
        _ = web.metadata.colour  # type: ignore[attr-defined]
    assert web.metadata.deletionTimestamp is None
    assert decode_list_metadata().continue_ is None
    assert copy.copy(web.metadata) == pickle.loads(pickle.dumps(web.metadata)) == POD["metadata"]


def decode_list_metadata() -> Any:
    return KubeObject.from_dict({"apiVersion": "v1", "kind": "PodList", "metadata": {}}).metadata


def test_a_misspelt_field_of_a_built_in_kind_raises_wherever_it_is() -> None:
    web = pod()

    for owner, name, meant in (
        (web, "sepc", "spec"),
        (web.spec, "nodeNmae", "nodeName"),
        (web["spec"], "nodeNmae", "nodeName"),
        (web.spec.containers[0], "imagePulPolicy", "imagePullPolicy"),
        (next(iter(web.spec.containers)), "imagePulPolicy", "imagePullPolicy"),
        (web.spec.containers[:1][0], "imagePulPolicy", "imagePullPolicy"),
        (dict(web.items())["spec"], "nodeNmae", "nodeName"),
        (pickle.loads(pickle.dumps(web.spec)), "nodeNmae", "nodeName"),
    ):
        with pytest.raises(AttributeError, match=f"no field '{name}'; did you mean '{meant}'"):
            getattr(owner, name)


def test_views_of_equal_content_are_equal_and_not_unequal() -> None:
    one, two = pod(), pod()

    for left, right in (
        (one, two),
        (one.spec, two.spec),
        (one.spec.containers, two.spec.containers),
    ):
        assert operator.eq(left, right)
        assert not operator.ne(left, right)


def test_a_map_has_any_keys_and_free_json_any_fields() -> None:
    labels = pod()["metadata"]["labels"]
    revision = KubeObject.from_dict(
        {"apiVersion": "apps/v1", "kind": "ControllerRevision", "data": {"spec": {}}}
    )

    assert labels.my_key is None
    assert revision.data.spec.anything is None


def test_of_a_custom_kind_only_the_metadata_is_known() -> None:
    widget = KubeObject.from_dict(
        {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}}
    )

    assert (widget.sepc, widget.spec.sise) == (None, None)
    with pytest.raises(AttributeError, match="did you mean 'finalizers'"):
        _ = widget.metadata.finalizer  # type: ignore[attr-defined]


def test_a_custom_resource_may_have_underscores_in_its_field_names() -> None:
    widget = KubeObject.from_dict(
        {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "w", "own_field": 1},
            "spec": {"max_size": 3, "a_b": {"c_d": [1]}},
            "top_level": True,
        }
    )

    assert widget.spec.max_size == 3
    assert widget.spec.a_b.c_d == [1]
    assert widget.top_level is True
    assert widget["metadata"].own_field == 1
    assert widget.spec.get("min_size") is None
    assert widget.spec.other is None
