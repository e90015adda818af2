"""Results are those of a real server (server.md §6.5 and §12)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from proreus.api import status
from proreus.api.group_version import GroupVersionKind
from proreus.api.patch.apply import check_applied, server_side_apply
from proreus.api.patch.errors import MalformedPatch, UnmappedPatchError
from proreus.api.patch.ownership import Endpoint
from proreus.api.typed import TypeNode
from proreus.api.wire import json
from proreus.server.schema.check import check
from proreus.server.schema.definitions import Definitions
from tests.unit.api.patch.tracking import track_update

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
SERVICE = GroupVersionKind("", "v1", "Service")


class Server:
    """One object and the clock; each call is one write, each second one call."""

    def __init__(self, kind: GroupVersionKind = CONFIG_MAP, *, subresource: str = "") -> None:
        node = Definitions.load().node(kind)
        assert node is not None
        self.kind = kind
        self.node: TypeNode = node
        self.live: Any = None
        self.now = 1_000_000_000
        self.empty = check(node, {}).value

    def apply(
        self, manager: str, body: dict[str, Any], *, force: bool = False, subresource: str = ""
    ) -> Any:
        applied = self._named(body)
        before = copy.deepcopy((self.live, applied))
        self.now += 1
        result = server_side_apply(
            self.live,
            applied,
            self.node,
            manager=manager,
            force=force,
            now=self.now,
            api_version=self.kind.api_version,
            subresource=subresource,
            endpoint=self._endpoint(subresource),
        )
        assert (self.live, applied) == before
        assert isinstance(result, dict), "there is but one version"
        return self._store(result)

    def write(self, manager: str, body: dict[str, Any], *, subresource: str = "") -> Any:
        """Create or update; ``body`` is the whole object."""
        self.now += 1
        new = self._named(body)
        tracked = track_update(
            self.live,
            new,
            self.node,
            manager=manager,
            now=self.now,
            api_version=self.kind.api_version,
            subresource=subresource,
            endpoint=self._endpoint(subresource),
        )
        return self._store(tracked)

    def managers(self) -> dict[str, Any]:
        entries = self.live["metadata"].get("managedFields", [])
        return {entry["manager"]: entry["fieldsV1"] for entry in entries}

    def _named(self, body: dict[str, Any]) -> dict[str, Any]:
        metadata = {"name": "a"} | body.get("metadata", {})
        head = {"apiVersion": self.kind.api_version, "kind": self.kind.kind}
        return {**head, **body, "metadata": metadata}

    def _endpoint(self, subresource: str) -> Endpoint:
        reset = (("spec",),) if subresource == "status" else (("status",),)
        return Endpoint(reset=reset, empty=self.empty)

    def _store(self, result: dict[str, Any]) -> Any:
        self.live = check(self.node, result).value
        return self.live


def test_apply_creates_what_is_missing_and_repeating_it_changes_nothing() -> None:
    server = Server()

    first = server.apply("one", {"metadata": {"labels": {"k": "v"}}, "data": {"x": "1"}})
    again = server.apply("one", {"metadata": {"labels": {"k": "v"}}, "data": {"x": "1"}})

    assert first["metadata"]["managedFields"] == [
        {
            "manager": "one",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": "2001-09-09T01:46:41Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:x": {}}, "f:metadata": {"f:labels": {"f:k": {}}}},
        }
    ]
    assert again == first


def test_apply_removes_what_the_manager_no_longer_names() -> None:
    server = Server()
    server.apply("one", {"data": {"x": "1", "y": "2"}})

    assert server.apply("one", {"data": {"x": "1"}})["data"] == {"x": "1"}
    assert server.managers() == {"one": {"f:data": {"f:x": {}}}}
    gone = server.apply("one", {})
    assert "data" not in gone
    assert "managedFields" not in gone["metadata"]


def test_two_managers_keep_what_each_of_them_set() -> None:
    server = Server()
    server.apply("one", {"data": {"x": "1"}})
    server.apply("two", {"data": {"y": "2"}})

    assert server.apply("one", {"data": {"x": "3"}})["data"] == {"x": "3", "y": "2"}
    assert server.apply("one", {})["data"] == {"y": "2"}


def test_a_different_value_conflicts_and_the_same_is_shared() -> None:
    server = Server()
    server.apply("one", {"data": {"x": "1", "y": "1", "z": "1"}})

    with pytest.raises(status.Conflict) as caught:
        server.apply("two", {"data": {"x": "2", "y": "2", "z": "1"}})
    assert caught.value.status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Apply failed with 2 conflicts: conflicts with "one":\n- .data.x\n- .data.y',
        "reason": "Conflict",
        "details": {
            "causes": [
                {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": f}
                for f in (".data.x", ".data.y")
            ]
        },
        "code": 409,
    }

    shared = server.apply("two", {"data": {"z": "1"}})
    assert shared["metadata"]["managedFields"][0] == {
        "manager": "two",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:z": {}}},
    }
    assert server.apply("one", {})["data"] == {"z": "1"}


def test_conflicts_with_several_managers_are_grouped() -> None:
    server = Server()
    server.apply("one", {"data": {"x": "1", "y": "1"}})
    server.apply("two", {"data": {"z": "1"}})
    server.write("upd", {**server.live, "data": {**server.live["data"], "u": "1"}})

    with pytest.raises(status.Conflict) as caught:
        server.apply("three", {"data": {"x": "2", "y": "2", "z": "2", "u": "2"}})

    assert caught.value.message == (
        'Apply failed with 4 conflicts: conflicts with "one":\n- .data.x\n- .data.y\n'
        'conflicts with "two":\n- .data.z\nconflicts with "upd" using v1:\n- .data.u'
    )


def test_force_takes_fields_and_leaves_no_empty_entry() -> None:
    server = Server()
    server.apply("one", {"data": {"x": "1"}})

    forced = server.apply("two", {"data": {"x": "2"}}, force=True)

    assert forced["data"] == {"x": "2"}
    assert server.managers() == {"two": {"f:data": {"f:x": {}}}}


def test_an_update_takes_fields_and_removal_ends_ownership() -> None:
    server = Server()
    server.apply("one", {"data": {"x": "1", "y": "1"}})
    server.write("updater", {**server.live, "data": {"x": "2", "y": "1"}})

    assert server.managers() == {
        "one": {"f:data": {"f:y": {}}},
        "updater": {"f:data": {"f:x": {}}},
    }
    with pytest.raises(status.Conflict) as caught:
        server.apply("one", {"data": {"x": "1", "y": "1"}})
    assert caught.value.message == (
        'Apply failed with 1 conflict: conflict with "updater" using v1: .data.x'
    )
    server.write("other", {**server.live, "data": {"x": "2"}})
    assert server.managers() == {"updater": {"f:data": {"f:x": {}}}}


def test_empty_maps_and_nulls_are_owned() -> None:
    server = Server()
    server.apply("one", {"metadata": {"labels": {}}, "data": {}, "immutable": None})

    assert server.managers() == {
        "one": {"f:data": {}, "f:immutable": {}, "f:metadata": {"f:labels": {}}}
    }


def test_null_over_ones_own_values_removes_them() -> None:
    server = Server()
    server.apply("one", {"data": {"x": "1", "y": None}})

    assert server.live["data"] == {"x": "1", "y": ""}
    assert "data" not in server.apply("one", {"data": None})
    assert server.managers() == {"one": {"f:data": {}}}


def deployment(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": "d"}},
        "spec": {"containers": list(containers), **spec},
    }
    return {"spec": {"selector": {"matchLabels": {"app": "d"}}, "template": template}}


def only(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": list(containers), **spec}}}}


def pod_spec(obj: dict[str, Any]) -> Any:
    return obj["spec"]["template"]["spec"]


def test_containers_merge_by_name() -> None:
    server = Server(DEPLOYMENT)
    server.apply("one", deployment({"name": "a", "image": "a:1"}))
    second = server.apply(
        "two", only({"name": "b", "image": "b:1"}, {"name": "a", "command": ["r"]})
    )

    assert [c["name"] for c in pod_spec(second)["containers"]] == ["b", "a"]
    assert server.managers()["two"] == {
        "f:spec": {"f:template": {"f:spec": {"f:containers": {
            'k:{"name":"a"}': {".": {}, "f:command": {}, "f:name": {}},
            'k:{"name":"b"}': {".": {}, "f:image": {}, "f:name": {}},
        }}}}
    }  # fmt: skip
    third = server.apply("two", only({"name": "a", "command": ["r"]}))
    assert pod_spec(third)["containers"] == [
        {"name": "a", "image": "a:1", "command": ["r"], "resources": {}}
    ]


def test_an_element_nobody_applies_goes_with_what_nobody_set_inside_it() -> None:
    server = Server(DEPLOYMENT)
    server.apply("one", deployment({"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}))
    live = copy.deepcopy(server.live)
    pod_spec(live)["containers"][1]["imagePullPolicy"] = "Always"
    server.live = live

    applied = server.apply("one", deployment({"name": "a", "image": "a:1"}))

    assert [c["name"] for c in pod_spec(applied)["containers"]] == ["a"]


def test_environment_keeps_an_order_both_sides_agree_with() -> None:
    def env(*names: str) -> dict[str, Any]:
        return {"name": "a", "image": "i", "env": [{"name": n, "value": n} for n in names]}

    def order() -> str:
        return "".join(e["name"] for e in pod_spec(server.live)["containers"][0]["env"])

    server = Server(DEPLOYMENT)
    server.apply("one", deployment(env("A", "B")))
    server.apply("two", only(env("C")))
    assert order() == "ABC"
    server.apply("one", deployment(env("B", "D", "A")))
    assert order() == "BCDA"
    server.apply("one", deployment(env("A")))
    assert order() == "CA"


def test_conflicts_name_list_elements_by_key_leaves_first() -> None:
    server = Server(DEPLOYMENT)
    server.apply(
        "one", deployment({"name": "a", "image": "a:1", "env": [{"name": "A", "value": "1"}]})
    )

    with pytest.raises(status.Conflict) as caught:
        server.apply(
            "two", only({"name": "a", "image": "a:2", "env": [{"name": "A", "value": "2"}]})
        )

    assert [cause["field"] for cause in caught.value.causes] == [
        '.spec.template.spec.containers[name="a"].image',
        '.spec.template.spec.containers[name="a"].env[name="A"].value',
    ]


def test_atomic_lists_and_maps_are_one_value() -> None:
    server = Server(DEPLOYMENT)
    container = {"name": "a", "image": "a:1", "args": ["1"]}
    server.apply("one", deployment(container, tolerations=[{"key": "k"}], nodeSelector={"a": "1"}))

    with pytest.raises(status.Conflict) as caught:
        server.apply(
            "two",
            only({"name": "a", "args": ["2"]}, tolerations=[{"key": "j"}], nodeSelector={"b": "1"}),
        )

    assert [cause["field"] for cause in caught.value.causes] == [
        ".spec.template.spec.nodeSelector",
        ".spec.template.spec.tolerations",
        '.spec.template.spec.containers[name="a"].args',
    ]


def test_ports_have_two_keys_one_with_a_default() -> None:
    server = Server(SERVICE)
    server.apply("one", {"spec": {"ports": [{"name": "a", "port": 80}]}})
    server.apply("two", {"spec": {"ports": [{"name": "b", "port": 80, "protocol": "UDP"}]}})
    result = server.apply("three", {"spec": {"ports": [{"port": 80, "targetPort": 8080}]}})

    assert result["spec"]["ports"] == [
        {"name": "a", "port": 80, "targetPort": 8080},
        {"name": "b", "port": 80, "protocol": "UDP"},
    ]
    assert list(server.managers()["one"]["f:spec"]["f:ports"]) == ['k:{"port":80,"protocol":"TCP"}']


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (CONFIG_MAP, {"datum": 1}, ".datum: field not declared in schema"),
        (CONFIG_MAP, {"data": {"x": 5}},
         ".data.x: expected string, got &value.valueUnstructured{Value:5}"),
        (CONFIG_MAP, {"data": ["x"]}, ".data: expected map, got &{[x]}"),
        (CONFIG_MAP, {"immutable": "x"},
         ".immutable: expected boolean, got &{x}"),
        (CONFIG_MAP, {"metadata": {"finalizers": ["x", "x"]}},
         '.metadata.finalizers: duplicate entries for key [="x"]'),
        (CONFIG_MAP, {"metadata": {"finalizers": "x"}},
         ".metadata.finalizers: expected list, got &{x}"),
        (CONFIG_MAP, {"metadata": {"finalizers": [None]}},
         ".metadata.finalizers: element 0: associative list without keys has an element "
         "that's an explicit null"),
        (DEPLOYMENT, {"spec": {"replicas": "two"}},
         ".spec.replicas: expected numeric (int or float), got string"),
        (DEPLOYMENT, only({"name": "a"}, {"name": "a"}),
         '.spec.template.spec.containers: duplicate entries for key [name="a"]'),
        (DEPLOYMENT, only({"image": "a"}, {"image": "b"}),
         '.spec.template.spec.containers: duplicate entries for key [name=""]'),
        (DEPLOYMENT, {"spec": {"strategy": {"rollingUpdate": {"maxSurge": []}}, "x": 1}},
         "errors:\n  .spec.strategy.rollingUpdate.maxSurge: expected any scalar, got &{[]}\n"
         "  .spec.x: field not declared in schema"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_type_is_an_error_without_reason(
    kind: GroupVersionKind, body: dict[str, Any], message: str
) -> None:
    with pytest.raises(UnmappedPatchError) as caught:
        Server(kind).apply("one", body)

    where = f"/a; {kind.group}/v1, Kind={kind.kind}"
    assert str(caught.value) == f"failed to create typed patch object ({where}): {message}"


def test_before_the_first_apply_everything_has_one_owner() -> None:
    server = Server()
    server.live = {"metadata": {"name": "a", "uid": "1"}, "data": {"x": "1"}}

    with pytest.raises(status.Conflict, match='conflict with "before-first-apply" using v1'):
        server.apply("one", {"data": {"x": "2"}})
    server.apply("one", {"data": {"y": "1"}})

    assert server.managers() == {
        "one": {"f:data": {"f:y": {}}},
        "before-first-apply": {"f:data": {".": {}, "f:x": {}}},
    }


def test_status_has_entries_of_its_own() -> None:
    server = Server(DEPLOYMENT)
    server.apply("one", deployment({"name": "a"}) | {"status": {"replicas": 3}})
    assert "f:status" not in server.managers()["one"]
    server.apply("one", {"status": {"replicas": 1}}, subresource="status")

    with pytest.raises(status.Conflict) as caught:
        server.apply("two", {"status": {"replicas": 2}}, subresource="status")

    assert caught.value.message == (
        'Apply failed with 1 conflict: conflict with "one" with subresource "status": '
        ".status.replicas"
    )
    assert len(server.live["metadata"]["managedFields"]) == 2


def test_a_created_object_is_owned_but_for_what_is_always_there() -> None:
    server = Server(DEPLOYMENT)
    server.write(
        "one", deployment({"name": "a", "ports": [{"containerPort": 80, "protocol": "TCP"}]})
    )

    assert server.managers() == {
        "one": {
            "f:spec": {
                "f:selector": {},
                "f:template": {
                    "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                    "f:spec": {
                        "f:containers": {
                            'k:{"name":"a"}': {
                                ".": {},
                                "f:name": {},
                                "f:ports": {
                                    ".": {},
                                    'k:{"containerPort":80,"protocol":"TCP"}': {
                                        ".": {}, "f:containerPort": {}, "f:protocol": {},
                                    },
                                },
                            }
                        }
                    },
                },
            }
        }
    }  # fmt: skip


def test_updates_of_one_manager_gather_and_others_lose() -> None:
    server = Server()
    server.write("one", {"data": {"x": "1", "y": "1"}, "metadata": {"finalizers": ["x.io/a"]}})
    server.write(
        "two", {"data": {"x": "1", "y": "2", "z": "3"}, "metadata": {"labels": {"a": "b"}}}
    )

    assert server.managers() == {
        "one": {"f:data": {".": {}, "f:x": {}}},
        "two": {"f:data": {"f:y": {}, "f:z": {}}, "f:metadata": {"f:labels": {".": {}, "f:a": {}}}},
    }


def test_the_oldest_of_many_updaters_become_one() -> None:
    server = Server()
    for number in range(12):
        data = (server.live or {}).get("data", {})
        server.write(f"m{number:02}", {"data": {**data, f"k{number:02}": "1"}})

    assert list(server.managers()) == ["ancient-changes", *(f"m{n:02}" for n in range(3, 12))]
    assert server.managers()["ancient-changes"] == {
        "f:data": {".": {}, "f:k00": {}, "f:k01": {}, "f:k02": {}}
    }


@pytest.mark.parametrize("entries", [[], [{}]])
def test_an_update_can_make_the_server_forget_all_owners(entries: Any) -> None:
    server = Server()
    server.write("one", {"data": {"x": "1"}})

    forgotten = server.write("two", {"data": {"x": "1"}, "metadata": {"managedFields": entries}})
    still = server.write("two", {"data": {"x": "2"}})

    assert "managedFields" not in forgotten["metadata"]
    assert "managedFields" not in still["metadata"]


@pytest.mark.parametrize(
    "entry",
    [
        {"manager": "m", "operation": "Guess", "fieldsType": "FieldsV1", "fieldsV1": {}},
        {"manager": "m", "operation": "Update", "fieldsType": "FieldsV2", "fieldsV1": {}},
        {"manager": "m", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"x": 1}},
        {"manager": "m", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"k:[": {}}},
    ],
)
def test_owners_that_cannot_be_read_are_replaced_by_the_stored_ones(entry: Any) -> None:
    server = Server()
    server.write("one", {"data": {"x": "1"}})

    server.write("one", {"data": {"x": "2"}, "metadata": {"managedFields": [entry]}})

    assert server.managers() == {"one": {"f:data": {".": {}, "f:x": {}}}}


def test_owners_may_be_rewritten_but_not_through_a_subresource() -> None:
    server = Server()
    server.write("one", {"data": {"x": "1"}})
    entry = {
        "manager": "other",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:x": {}}},
    }
    body = {"data": {"x": "1"}, "metadata": {"managedFields": [entry]}}

    server.write("two", body, subresource="status")
    assert list(server.managers()) == ["one"]
    server.write("two", body)
    assert list(server.managers()) == ["other"]
    assert server.apply("other", {"data": {"y": "1"}})["data"] == {"y": "1"}


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def client_side(data: dict[str, str]) -> dict[str, Any]:
    applied = {"apiVersion": "v1", "data": data, "kind": "ConfigMap", "metadata": {"name": "a"}}
    text = json.encode(applied).decode()
    return {"data": data, "metadata": {"annotations": {LAST_APPLIED: text}}}


def test_kubectl_takes_over_what_its_client_side_apply_had_set() -> None:
    server = Server()
    server.write("kubectl-client-side-apply", client_side({"x": "1"}))

    with pytest.raises(status.Conflict, match="kubectl-client-side-apply"):
        server.apply("other", {"data": {"x": "2"}})
    taken = server.apply("kubectl", {"data": {"x": "2"}})

    assert taken["metadata"]["annotations"][LAST_APPLIED] == (
        '{"apiVersion":"v1","data":{"x":"2"},"kind":"ConfigMap","metadata":{"name":"a"}}\n'
    )
    assert server.managers() == {
        "kubectl": {"f:data": {"f:x": {}}},
        "kubectl-client-side-apply": {
            "f:data": {},
            "f:metadata": {"f:annotations": {".": {}, f"f:{LAST_APPLIED}": {}}},
        },
    }


def test_kubectl_still_conflicts_with_what_others_changed_since() -> None:
    server = Server()
    server.write("kubectl-client-side-apply", client_side({"x": "1", "y": "1"}))
    server.write("other", {**server.live, "data": {"x": "1", "y": "5"}})

    with pytest.raises(status.Conflict) as caught:
        server.apply("kubectl", {"data": {"x": "2", "y": "2"}})

    assert caught.value.message == (
        'Apply failed with 1 conflict: conflict with "other" using v1: .data.y'
    )


@pytest.mark.parametrize(
    ("body", "rendered"),
    [
        ({"apiVersion": "v2", "kind": "ConfigMap"}, "/v2, Kind=ConfigMap"),
        ({"apiVersion": "apps/v1", "kind": "ConfigMap"}, "apps/v1, Kind=ConfigMap"),
        ({"apiVersion": "v1", "kind": "Secret"}, "/v1, Kind=Secret"),
        ({"kind": "ConfigMap"}, "/, Kind=ConfigMap"),
        (None, "/, Kind="),
        ([], "/, Kind="),
    ],
)
def test_a_body_of_another_kind_is_refused(body: Any, rendered: str) -> None:
    with pytest.raises(MalformedPatch) as caught:
        check_applied(body, CONFIG_MAP)

    assert str(caught.value) == f"invalid object type: {rendered}"


def test_a_body_may_not_bring_its_own_owners() -> None:
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap"}
    check_applied({**body, "metadata": {"managedFields": None}}, CONFIG_MAP)

    with pytest.raises(MalformedPatch, match=r"metadata\.managedFields must be nil"):
        check_applied({**body, "metadata": {"managedFields": []}}, CONFIG_MAP)
