from __future__ import annotations

import json as slow_json
from functools import cache
from importlib import resources
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.api.group_version import GroupVersionKind
from proreus.api.typed import Shape
from proreus.api.wire import protobuf
from proreus.api.wire.protobuf import ProtobufError, decode, encode
from proreus.server.schema.definitions import Definitions

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


@cache
def table() -> dict[str, dict[str, tuple[int, str]]]:
    text = resources.files("proreus.api.wire").joinpath("protobuf_fields.json").read_text()
    found: dict[str, dict[str, tuple[int, str]]] = slow_json.loads(text)
    return found


TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
JSON = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
TIMES = st.datetimes().map(lambda moment: f"{moment:%Y-%m-%dT%H:%M:%S}".zfill(19) + "Z")
MICRO_TIMES = st.datetimes().map(lambda m: f"{m:%Y-%m-%dT%H:%M:%S.%f}".zfill(26) + "Z")
TEXTS = st.lists(TEXT, max_size=2)
LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXT,
    "bool": st.booleans(),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 5),
    "bytes": st.sampled_from(["", "MQ==", "AP8="]),
    "meta.v1.Time": TIMES,
    "meta.v1.MicroTime": MICRO_TIMES,
    "meta.v1.FieldsV1": st.dictionaries(TEXT, st.just({}), max_size=2),
    "meta.v1.Verbs": TEXTS,
    "resource.Quantity": st.sampled_from(["0", "1Gi", "500m"]),
    "intstr.IntOrString": st.integers(-(2**31), 2**31 - 1) | TEXT,
    "runtime.RawExtension": st.dictionaries(TEXT, JSON, max_size=2),
    "apiextensions.v1.JSON": JSON,
    "authentication.v1.ExtraValue": TEXTS,
    "authentication.v1.AttestationValue": TEXTS,
    "authorization.v1.ExtraValue": TEXTS,
    "certificates.v1.ExtraValue": TEXTS,
}
UNIONS = {"OrBool": st.booleans(), "OrArray": None, "OrStringArray": TEXTS.filter(bool)}


@st.composite
def values(draw: st.DrawFn, kind: str, depth: int) -> Any:
    if kind in LEAVES:
        return draw(LEAVES[kind])
    if kind.startswith("apiextensions.v1.JSONSchemaPropsOr"):
        schema = values("apiextensions.v1.JSONSchemaProps", depth + 1)
        other = UNIONS[kind.removeprefix("apiextensions.v1.JSONSchemaProps")]
        return draw(schema | (other or st.lists(schema, min_size=1, max_size=2)))
    fields = table()[kind]
    found: dict[str, Any] = {}
    if depth > 8 or not fields:
        return found
    wanted = draw(st.lists(st.sampled_from(sorted(fields)), max_size=6 - depth // 2, unique=True))
    for name in wanted:
        prefix, _, inner = fields[name][1].rpartition(":")
        one = values(inner, depth + 1)
        match prefix:
            case "inline":
                found |= draw(one)
            case "list":
                found[name] = draw(st.lists(one, min_size=1, max_size=2))
            case "map":
                found[name] = draw(st.dictionaries(TEXT, one, min_size=1, max_size=2))
            case _:
                found[name] = draw(one)
    return found


GROUPS = {
    "core": "",
    "meta": "meta.k8s.io",
    "rbac": "rbac.authorization.k8s.io",
    "flowcontrol": "flowcontrol.apiserver.k8s.io",
}


def kind_of(message: str) -> GroupVersionKind:
    package, version, kind = message.split(".")
    group = GROUPS.get(package)
    if group is None:
        group = (
            package
            if package in ("apps", "batch", "autoscaling", "policy")
            else f"{package}.k8s.io"
        )
    return GroupVersionKind(group, version, kind)


def kinds() -> list[str]:
    """Every message that is a kind: it has metadata, or is an option."""
    return sorted(
        name
        for name, fields in table().items()
        if fields.get("metadata", (0, ""))[1].startswith("meta.v1.") or name.endswith("Options")
    )


@pytest.mark.parametrize("message", kinds())
def test_every_kind_survives_the_round_trip(message: str) -> None:
    kind = kind_of(message)

    @settings(max_examples=5, deadline=None, database=None)
    @given(values(message, 0))
    def round_trip(obj: Any) -> None:
        obj.pop("kind", None)
        assert decode(encode(obj, kind)) == {
            "kind": kind.kind,
            "apiVersion": kind.api_version,
            **obj,
        }

    round_trip()


def test_fields_carry_the_names_of_the_published_definitions() -> None:
    """A message and the definition of the same name have the same fields."""
    definitions = Definitions.load()
    known = {".".join(name.split(".")[-3:]): name for name in definitions}
    wrong: dict[str, set[str]] = {}
    for message in table().keys() & known.keys():
        node = definitions.named(known[message])
        if node.shape is not Shape.OBJECT or node.properties is None:
            continue
        differing = (_names(message) ^ node.properties().keys()) - {"kind", "apiVersion"}
        if differing:
            wrong[message] = differing

    # Parts of an alpha group that no client of the stable one sends.
    assert wrong == {
        "batch.v1.JobSchedulingConfiguration": {
            "disruptionMode", "resourceClaims", "schedulingConstraints", "schedulingPolicy",
        }
    }  # fmt: skip


def _names(message: str) -> set[str]:
    found: set[str] = set()
    for name, (_, kind) in table()[message].items():
        found |= _names(kind.partition(":")[2]) if kind.startswith("inline:") else {name}
    return found


def test_a_body_as_client_go_sends_it() -> None:
    body = b"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\r\n\x03\n\x01a\x12\x06\n\x01x\x12\x011"

    assert decode(body) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "a"},
        "data": {"x": "1"},
    }
    assert encode(decode(body), CONFIG_MAP) == body + b"\x1a\x00\x22\x00"


def test_a_deployment_as_kubectl_writes_it() -> None:
    """kubectl 1.32: create deployment hex1 --image=nginx:1 --replicas=0 --port=80."""
    body = bytes.fromhex(
        "6b3873000a150a07617070732f7631120a4465706c6f796d656e7412be010a210a046865783112001a00"
        "22002a003200380042005a0b0a03617070120468657831128a010800120d0a0b0a036170701204686578"
        "311a6f0a1d0a0012001a0022002a003200380042005a0b0a03617070120468657831124e12300a056e67"
        "696e7812076e67696e783a312a00320a0a001000185022002a0042006a007200800100880100900100a2"
        "01001a00320042004a0052005800600068008201008a01009a0100c2010022020a00280038001a0c0800"
        "100018002000280038001a002200"
    )

    found = decode(body)

    assert found["metadata"] == {
        "name": "hex1", "generateName": "", "namespace": "", "selfLink": "", "uid": "",
        "resourceVersion": "", "generation": 0, "labels": {"app": "hex1"},
    }  # fmt: skip
    spec = found["spec"]
    assert (spec["replicas"], spec["selector"]) == (0, {"matchLabels": {"app": "hex1"}})
    assert "creationTimestamp" not in spec["template"]["metadata"]
    container = spec["template"]["spec"]["containers"][0]
    assert (container["name"], container["image"]) == ("nginx", "nginx:1")
    assert container["ports"][0]["containerPort"] == 80
    assert container["resources"] == {}
    assert decode(encode(found, kind_of("apps.v1.Deployment"))) == found


def test_options_and_status_belong_to_every_group() -> None:
    body = b'k8s\x00\n\x13\n\x02v1\x12\rDeleteOptions\x12\x08"\x06Orphan'
    apps = GroupVersionKind("apps", "v1", "DeleteOptions")

    assert decode(body)["propagationPolicy"] == "Orphan"
    assert decode(encode({"dryRun": ["All"]}, apps)) == {
        "kind": "DeleteOptions",
        "apiVersion": "apps/v1",
        "dryRun": ["All"],
    }
    assert encode({}, GroupVersionKind("", "v1", "Status"))
    for kind in (
        GroupVersionKind("example.com", "v1", "Thing"),
        GroupVersionKind("meta.k8s.io", "v1", "Table"),
    ):
        with pytest.raises(ProtobufError):
            encode({}, kind)


def test_zero_values_are_kept_and_the_zero_time_is_absent() -> None:
    pod = b"\n\x09\n\x01a\x12\x00\x1a\x00\x42\x00\x12\x02\x20\x00"
    body = b"k8s\x00" + b"\n\x09\n\x02v1\x12\x03Pod" + b"\x12" + bytes([len(pod)]) + pod

    assert decode(body) == {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "a", "generateName": "", "namespace": ""},
        "spec": {"terminationGracePeriodSeconds": 0},
    }


def test_lists_hold_objects_in_envelopes_of_their_own() -> None:
    item = encode({"metadata": {"name": "a"}}, CONFIG_MAP)
    extension = b"\n" + bytes([len(item)]) + item
    listed = b"\x12" + bytes([len(extension)]) + extension
    body = b"k8s\x00\n\x0a\n\x02v1\x12\x04List\x12" + bytes([len(listed)]) + listed

    assert decode(body)["items"] == [
        {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}}
    ]


def test_watch_frames_carry_their_length() -> None:
    frame = protobuf.encode_watch_event("ADDED", {"metadata": {"name": "a"}}, CONFIG_MAP)

    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert frame[4:].startswith(b"\n\x05ADDED\x12")
    assert decode(frame[frame.index(b"k8s\x00") :]) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "a"},
    }


def test_packed_numbers_are_read_too() -> None:
    kind = GroupVersionKind("", "v1", "Pod")
    body = encode({"spec": {"securityContext": {"supplementalGroups": [1, 300]}}}, kind)
    unpacked = b"\x20\x01\x20\xac\x02"
    assert unpacked in body

    packed = body.replace(unpacked, b"\x22\x03\x01\xac\x02")

    assert decode(packed) == decode(body)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "empty data"),
        (b"k8s\x00", "empty body"),
        (b"k8s\x00\xff\xff", "unexpected EOF"),
        (b"nonsense",
         "provided data does not appear to be a protobuf message, "
         "expected prefix [107 56 115 0]"),
        (b"k8s\x00\n\x0b\n\x02v1\x12\x05Thing",
         'no kind "Thing" is registered for version "v1"'),
        (b"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x02\n\x09", "unexpected EOF"),
        (b"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x02\x00\x00",
         "proto: core.v1.ConfigMap: illegal tag 0 (wire type 0)"),
        (b"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x01\x0c",
         "proto: core.v1.ConfigMap: wiretype end group for non-group"),
        (b"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x01\x0e", "proto: illegal wireType 6"),
        (b"k8s\x00\x08" + b"\xff" * 11, "proto: integer overflow"),
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(ProtobufError) as caught:
        decode(body)

    assert str(caught.value) == message


@given(st.binary(max_size=60), st.sampled_from([b"Pod", b"Event", b"List", b"ConfigMap"]))
def test_any_bytes_are_decoded_or_refused(body: bytes, kind: bytes) -> None:
    type_meta = b"\n\x02v1\x12" + bytes([len(kind)]) + kind
    envelope = b"k8s\x00\n" + bytes([len(type_meta)]) + type_meta + b"\x12" + bytes([len(body)])
    try:
        decoded = decode(envelope + body)
    except ProtobufError:
        return
    assert decoded["kind"] == kind.decode()


@given(values("core.v1.Pod", 0), st.data())
@settings(max_examples=50, deadline=None)
def test_a_truncated_body_never_crashes(pod: Any, data: st.DataObject) -> None:
    body = encode(pod, GroupVersionKind("", "v1", "Pod"))
    cut = data.draw(st.integers(0, len(body) - 1))
    try:
        decode(body[:cut])
    except ProtobufError as refused:
        assert str(refused)


def test_a_body_nested_too_deep_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(5000):
        schema = {"not": schema}
    kind = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}

    with pytest.raises(ProtobufError, match="exceeded max depth"):
        encode({"spec": {"versions": [version]}}, kind)
    deep = b""
    for _ in range(3000):
        size = len(deep)
        prefix = b"\xe2\x01"  # field 28: not
        varint = bytearray()
        while size >= 0x80:
            varint.append(size & 0x7F | 0x80)
            size >>= 7
        varint.append(size)
        deep = prefix + bytes(varint) + deep
    wrapped = _nest(deep, [0x0A, 0x22, 0x3A, 0x12])
    type_meta = b"\n\x17apiextensions.k8s.io/v1\x12\x18CustomResourceDefinition"
    body = b"k8s\x00" + _delimited(0x0A, type_meta) + _delimited(0x12, wrapped)
    with pytest.raises(ProtobufError, match="exceeded max depth"):
        decode(body)


def _nest(body: bytes, tags: list[int]) -> bytes:
    for tag in tags:
        body = _delimited(tag, body)
    return body


def _delimited(tag: int, body: bytes) -> bytes:
    size, varint = len(body), bytearray([tag])
    while size >= 0x80:
        varint.append(size & 0x7F | 0x80)
        size >>= 7
    varint.append(size)
    return bytes(varint) + body


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ({"metadata": 5}, "meta.v1.ObjectMeta must be an object, got int"),
        ({"metadata": {"name": 5}}, "meta.v1.ObjectMeta.name"),
        ({"metadata": {"creationTimestamp": "soon"}}, "parsing time"),
        ({"metadata": {"creationTimestamp": 5}}, "a time must be text"),
        ({"binaryData": {"x": "*"}}, "illegal base64"),
    ],
)
def test_what_does_not_fit_its_message_is_refused(obj: Any, message: str) -> None:
    with pytest.raises(ProtobufError, match=message):
        encode(obj, CONFIG_MAP)
