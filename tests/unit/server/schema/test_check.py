"""Decoding into a kind: Go's idea of empty, its words for wrong types, unknown fields."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.group_version import GroupVersionKind
from proreus.server.schema import go_types
from proreus.server.schema.check import DecodeError, check, zero
from proreus.server.schema.definitions import Definitions

KINDS = {
    "Pod": ("", "v1"),
    "ConfigMap": ("", "v1"),
    "Namespace": ("", "v1"),
    "Service": ("", "v1"),
    "Secret": ("", "v1"),
    "Node": ("", "v1"),
    "ResourceQuota": ("", "v1"),
    "Event": ("", "v1"),
    "Deployment": ("apps", "v1"),
    "Lease": ("coordination.k8s.io", "v1"),
    "EndpointSlice": ("discovery.k8s.io", "v1"),
    "Role": ("rbac.authorization.k8s.io", "v1"),
    "PersistentVolumeClaim": ("", "v1"),
    "RoleBinding": ("rbac.authorization.k8s.io", "v1"),
    "PodDisruptionBudget": ("policy", "v1"),
    "FlowSchema": ("flowcontrol.apiserver.k8s.io", "v1"),
    "HorizontalPodAutoscaler": ("autoscaling", "v2"),
    "SubjectAccessReview": ("authorization.k8s.io", "v1"),
    "CustomResourceDefinition": ("apiextensions.k8s.io", "v1"),
    "ValidatingAdmissionPolicyBinding": ("admissionregistration.k8s.io", "v1"),
    "TokenReview": ("authentication.k8s.io", "v1"),
    "IPAddress": ("networking.k8s.io", "v1"),
    "ResourceClaim": ("resource.k8s.io", "v1"),
}


def checked(kind: str, value: Any) -> dict[str, Any]:
    return check(_node(kind), value).value


def _node(kind: str) -> Any:
    return Definitions.load().node(GroupVersionKind(*KINDS[kind], kind))


def fault(kind: str, value: Any, raw: str = "") -> str:
    with pytest.raises(DecodeError) as caught:
        check(_node(kind), value, (raw or json.dumps(value)).encode())
    return str(caught.value)


def test_lists_in_a_map_may_be_null() -> None:
    extra = {"scopes": None, "groups": ["a"]}

    made = checked("SubjectAccessReview", {"spec": {"user": "eve", "extra": extra}})

    assert made["spec"]["extra"] == extra


def test_an_empty_path_to_the_selector_of_a_scale_stays() -> None:
    scale = {"specReplicasPath": ".a", "statusReplicasPath": ".b", "labelSelectorPath": ""}
    version = {"name": "v1", "subresources": {"scale": scale}}

    made = checked("CustomResourceDefinition", {"spec": {"versions": [version]}})

    assert made["spec"]["versions"][0]["subresources"]["scale"] == scale


@pytest.mark.parametrize(
    ("kind", "given", "kept"),
    [
        # empty strings, lists and maps of optional fields go
        ("Pod", {"spec": {"hostname": "", "volumes": [], "nodeSelector": {}}}, {"spec": {}}),
        # a plain boolean goes when false, a pointer stays
        ("Pod", {"spec": {"hostPID": False, "shareProcessNamespace": False}},
         {"spec": {"shareProcessNamespace": False}}),
        # an empty object that is a pointer stays
        ("Pod", {"spec": {"affinity": {}, "securityContext": {}}},
         {"spec": {"affinity": {}, "securityContext": {}}}),
        # nulls go everywhere but in maps and lists of texts, where they are ""
        ("ConfigMap", {"data": {"a": None}}, {"data": {"a": ""}}),
        ("Pod", {"spec": {"volumes": [{"name": "v", "emptyDir": None}]}},
         {"spec": {"volumes": [{"name": "v"}]}}),
        # lists that are always written are null when empty
        ("EndpointSlice", {"addressType": "IPv4", "endpoints": []},
         {"endpoints": None, "ports": None}),
        ("Role", {"rules": []}, {"rules": None}),
        # amounts and times are canonical
        ("ResourceQuota", {"spec": {"hard": {"cpu": "1000m", "pods": 5}}},
         {"spec": {"hard": {"cpu": "1", "pods": "5"}}}),
        ("Lease", {"spec": {"renewTime": "2024-01-01T02:00:00.500000+02:00"}},
         {"spec": {"renewTime": "2024-01-01T00:00:00.500000Z"}}),
        ("PersistentVolumeClaim", {"spec": {"storageClassName": ""}},
         {"spec": {"storageClassName": "", "resources": {}}}),
        ("Event", {}, {"firstTimestamp": None, "source": {}, "reportingComponent": ""}),
        # required fields may be left out when empty, and optional ones written
        ("ValidatingAdmissionPolicyBinding", {}, {"spec": {}}),
        ("TokenReview", {}, {"spec": {}}),
        ("IPAddress", {"spec": {"parentRef": {}}}, {"spec": {"parentRef": {}}}),
        ("ResourceClaim", {"spec": {"devices": {}}}, {"spec": {"devices": {"requests": None}}}),
    ],
)  # fmt: skip
def test_what_is_empty_becomes_what_go_writes(
    kind: str, given: dict[str, Any], kept: dict[str, Any]
) -> None:
    found = checked(kind, given)

    for key, value in kept.items():
        rendered = found[key]
        if key == "spec":
            rendered = {k: v for k, v in rendered.items() if k not in ("containers",) or k in value}
        assert rendered == value


def test_a_struct_nobody_gave_shows_its_required_fields() -> None:
    node = _node("Node")

    status = zero(node)["status"]

    assert status["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 0}}
    assert status["nodeInfo"]["architecture"] == ""


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    [
        ("ConfigMap", {"data": {"x": 1}},
         "number into Go struct field ConfigMap.data of type string"),
        ("ConfigMap", {"data": ["x"]},
         "array into Go struct field ConfigMap.data of type map[string]string"),
        ("ConfigMap", {"metadata": "a"},
         "string into Go struct field ConfigMap.metadata of type v1.ObjectMeta"),
        ("ConfigMap", {"metadata": {"labels": {"x": True}}},
         "bool into Go struct field ObjectMeta.metadata.labels of type string"),
        ("Pod", {"spec": {"containers": {"name": "c"}}},
         "object into Go struct field PodSpec.spec.containers of type []v1.Container"),
        ("Pod", {"spec": {"containers": [{"env": [{}, {"value": 1}]}]}},
         "number into Go struct field EnvVar.spec.containers.env.value of type string"),
        ("Pod", {"spec": {"containers": [{"command": "sleep"}]}},
         "string into Go struct field Container.spec.containers.command of type []string"),
        ("Deployment", {"spec": {"replicas": 1.5}},
         "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32"),
        ("Deployment", {"spec": {"replicas": 2147483648}},
         "number 2147483648 into Go struct field DeploymentSpec.spec.replicas of type int32"),
        ("Lease", {"spec": {"renewTime": 5}},
         "number into Go struct field LeaseSpec.spec.renewTime of type string"),
        ("Pod", {"metadata": {"uid": 5}},
         "number into Go struct field ObjectMeta.metadata.uid of type types.UID"),
        ("Namespace", {"spec": {"finalizers": "x"}},
         "string into Go struct field NamespaceSpec.spec.finalizers of type []v1.FinalizerName"),
        ("Namespace", {"spec": {"finalizers": [5]}},
         "number into Go struct field NamespaceSpec.spec.finalizers of type v1.FinalizerName"),
        ("Service", {"spec": {"ports": [{"targetPort": 1.5}]}},
         "number 1.5 into Go struct field ServicePort.spec.ports.targetPort of type int32"),
        ("HorizontalPodAutoscaler", {"spec": {"metrics": [{"type": 1}]}},
         "number into Go struct field MetricSpec.spec.metrics.type of type v2.MetricSourceType"),
        ("SubjectAccessReview", {"spec": {"extra": {"a": "b"}}},
         "string into Go struct field SubjectAccessReviewSpec.spec.extra of type v1.ExtraValue"),
        ("SubjectAccessReview", {"spec": {"extra": {"a": [5]}}},
         "number into Go struct field SubjectAccessReviewSpec.spec.extra of type string"),
        ("FlowSchema", {"spec": {"rules": [{"subjects": [{"kind": 5}]}]}},
         "number into Go struct field Subject.spec.rules.subjects.kind of type v1.SubjectKind"),
        ("RoleBinding", {"subjects": [{"kind": 5}]},
         "number into Go struct field Subject.subjects.kind of type string"),
        ("PodDisruptionBudget", {"status": {"disruptedPods": "x"}},
         "string into Go struct field PodDisruptionBudgetStatus.status.disruptedPods of type "
         "map[string]v1.Time"),
        ("SubjectAccessReview", {"spec": {"extra": "b"}},
         "string into Go struct field SubjectAccessReviewSpec.spec.extra of type "
         "map[string]v1.ExtraValue"),
        ("Pod", [], "array into Go value of type v1.Pod"),
    ],
)  # fmt: skip
def test_a_wrong_type_is_reported_as_go_does(kind: str, value: Any, problem: str) -> None:
    assert fault(kind, value) == f"json: cannot unmarshal {problem}"


SCHEMA = "JSONSchemaProps.spec.versions.schema.openAPIV3Schema"


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"items": {"properties": {"a": ["x"]}}},
         f"json: cannot unmarshal array into Go struct field {SCHEMA}.items "
         "of type v1.JSONSchemaProps"),
        ({"items": [{"type": "string"}, 5]},
         f"json: cannot unmarshal number into Go struct field {SCHEMA}.items "
         "of type v1.JSONSchemaProps"),
        ({"properties": {"a": {"additionalProperties": {"maxLength": "5"}}}},
         "json: cannot unmarshal string into Go struct field "
         f"{SCHEMA}.properties.additionalProperties of type int64"),
        ({"items": {"items": {"type": 5}}},
         f"json: cannot unmarshal number into Go struct field {SCHEMA}.items of type string"),
        ({"dependencies": {"a": [1]}},
         f"json: cannot unmarshal number into Go struct field {SCHEMA}.dependencies "
         "of type string"),
        ({"additionalProperties": "yes"}, "boolean or JSON schema expected"),
    ],
)  # fmt: skip
def test_schemas_in_schemas_are_decoded_apart(schema: dict[str, Any], problem: str) -> None:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "a", "kind": "A"}
    spec = {"group": "b", "names": names, "scope": "Cluster", "versions": [version]}

    for _ in range(3):  # forms are built of what was seen before
        assert fault("CustomResourceDefinition", {"spec": spec}) == problem


def test_what_a_schema_in_a_schema_does_not_know_is_dropped_without_a_word() -> None:
    schema = {"items": {"type": "string", "odd": 1}, "additionalProperties": True, "not": {"o": 1}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}

    found = check(_node("CustomResourceDefinition"), {"spec": {"versions": [version]}})

    kept = found.value["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert (kept["items"], kept["additionalProperties"]) == ({"type": "string"}, True)
    assert found.unknown_fields == ["spec.versions[0].schema.openAPIV3Schema.not.o"]


def test_keys_of_maps_are_named_as_fields_are_where_something_below_them_is_unknown() -> None:
    schema = {"properties": {"spec": {"properties": {"a": {"odd": 1}}}}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}

    found = check(_node("CustomResourceDefinition"), {"spec": {"versions": [version]}})

    at = "spec.versions[0].schema.openAPIV3Schema.properties"
    assert found.unknown_fields == [f"{at}.spec.properties.a.odd"]


def test_dependencies_of_a_schema_are_seen_though_empty_as_they_are_refused() -> None:
    version = {"name": "v1", "schema": {"openAPIV3Schema": {"dependencies": {}, "required": []}}}

    found = check(_node("CustomResourceDefinition"), {"spec": {"versions": [version]}})

    assert found.value["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {"dependencies": {}}


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("enum", "[]v1.JSON"),
        ("dependencies", "v1.JSONSchemaDependencies"),
        ("definitions", "v1.JSONSchemaDefinitions"),
        ("x-kubernetes-validations", "v1.ValidationRules"),
    ],
)
def test_lists_and_maps_of_schemas_have_types_with_names(field: str, name: str) -> None:
    version = {"name": "v1", "schema": {"openAPIV3Schema": {field: "x"}}}

    found = fault("CustomResourceDefinition", {"spec": {"versions": [version]}})

    assert found.endswith(f"of type {name}")


def test_types_with_names_of_their_own_belong_to_fields_there_are() -> None:
    known = Definitions.load()
    fields = {
        f"{name.rpartition('.')[2]}.{field}"
        for name in known
        for field in known.raw(name).get("properties", ())
    }

    # The answers of webhooks are of a type that is sent, but not published.
    fields |= {"AdmissionResponse.uid", "AdmissionResponse.patchType"}

    assert go_types.NAMED.keys() <= fields


def test_a_number_is_quoted_as_it_was_written() -> None:
    found = fault("Deployment", {"spec": {"replicas": 100.0}}, '{"spec": {"replicas": 1e2}}')

    assert "number 1e2 into" in found


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    [
        ("ConfigMap", {"binaryData": {"x": "!"}}, "illegal base64 data at input byte 0"),
        ("Secret", {"data": {"x": "YWJj YQ=="}}, "illegal base64 data at input byte 4"),
        ("Secret", {"data": {"x": "AA=A"}}, "illegal base64 data at input byte 2"),
        ("Secret", {"data": {"x": "AA==AA=="}}, "illegal base64 data at input byte 4"),
        ("Secret", {"data": {"x": "AAAA\nA"}}, "illegal base64 data at input byte 5"),
        (
            "Pod",
            {"metadata": {"creationTimestamp": "2020-01-01T00:00:00+25:00"}},
            'parsing time "2020-01-01T00:00:00+25:00": time zone offset hour out of range',
        ),
        ("ResourceQuota", {"spec": {"hard": {"pods": True}}}, "quantities must match"),
        ("Lease", {"spec": {"renewTime": "now"}}, 'parsing time "now"'),
    ],
)
def test_a_text_its_grammar_refuses_is_reported_without_a_path(
    kind: str, value: Any, problem: str
) -> None:
    assert fault(kind, value).startswith(problem)


def test_unknown_fields_are_dropped_and_named_in_order() -> None:
    given = {
        "metadata": {"name": "a", "lables": {}},
        "spec": {"containers": [{"name": "c", "imag": "x", "ports": [{"port": 1}]}], "replicas": 1},
        "Status": {},
    }

    found = check(_node("Pod"), given)

    assert found.unknown_fields == [
        "metadata.lables",
        "spec.containers[0].imag",
        "spec.containers[0].ports[0].port",
        "spec.replicas",
        "Status",
    ]
    assert "replicas" not in found.value["spec"]


def test_the_input_is_not_changed() -> None:
    given = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"env": []}]}}
    before = json.dumps(given)

    checked("Pod", given)

    assert json.dumps(given) == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["spec", "metadata", "name", "containers", "labels", "env", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(sorted(KINDS)), JSON)
def test_any_json_is_decoded_or_refused_and_decoding_twice_changes_nothing(
    kind: str, value: Any
) -> None:
    try:
        once = checked(kind, value)
    except DecodeError:
        return

    again = check(_node(kind), once)

    assert again.value == once
    assert again.unknown_fields == []
