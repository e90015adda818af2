"""kopf operators on custom kinds, after its own examples: children, errors, filters, peering."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from tests.custom.definitions import INTEGER, TEXT, definition, version
from tests.custom.operators import (
    PATIENCE,
    Kubectl,
    established,
    eventually,
    operator,
    until,
)
from tests.running_server import RunningServer


def kind_for(plural: str, kind: str, *fields: str) -> dict[str, Any]:
    body = definition(
        version(spec={"size": INTEGER, **dict.fromkeys(fields, TEXT)}, status={}),
        plural=plural,
        kind=kind,
    )
    schema = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["status"]["x-kubernetes-preserve-unknown-fields"] = True
    return body


def peering() -> dict[str, Any]:
    """As kopf's own deployment file defines it."""
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"status": status}}}
    names = {"plural": "kopfpeerings", "singular": "kopfpeering", "kind": "KopfPeering"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "kopfpeerings.kopf.dev"},
        "spec": {
            "scope": "Namespaced",
            "group": "kopf.dev",
            "names": names,
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def made(kubectl: Kubectl, kind: str, name: str, labels: Any = None, **spec: Any) -> None:
    metadata = {"name": name, "namespace": "default", "labels": labels or {}}
    body = {"apiVersion": "example.com/v1", "kind": kind, "metadata": metadata, "spec": spec}
    kubectl("apply", "-f", "-", stdin=orjson.dumps(body).decode())


CHILDREN = """
    import kubernetes

    @kopf.on.create("example.com", "v1", "nests")
    def make_children(spec, name, namespace, **_):
        body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": f"{name}-egg"}}
        kopf.adopt(body)
        kubernetes.config.load_kube_config()
        api = kubernetes.client.CoreV1Api()
        child = api.create_namespaced_config_map(namespace, body)
        return {"uid": child.metadata.uid}

    @kopf.on.event("", "v1", "configmaps", labels={"seen": kopf.ABSENT},
                   when=lambda name, **_: name.endswith("-egg"))
    def seen(name, namespace, **_):
        kubernetes.config.load_kube_config()
        patch = {"metadata": {"labels": {"seen": "yes"}}}
        kubernetes.client.CoreV1Api().patch_namespaced_config_map(name, namespace, patch)

    @kopf.on.delete("example.com", "v1", "nests")
    def said_goodbye(name, namespace, **_):
        kubernetes.config.load_kube_config()
        patch = {"metadata": {"labels": {"goodbye": "said"}}}
        kubernetes.client.CoreV1Api().patch_namespaced_config_map(
            f"{name}-egg", namespace, patch)
"""


def test_an_operator_has_children_and_says_goodbye(
    separate_server: RunningServer, run_kubectl: Kubectl, tmp_path: Path
) -> None:
    established(run_kubectl, kind_for("nests", "Nest"))

    with operator(separate_server, tmp_path, CHILDREN):
        made(run_kubectl, "Nest", "a")
        child = "--for=jsonpath={.status.make_children.uid}"
        run_kubectl("wait", "nest/a", child, PATIENCE)
        until(run_kubectl, "configmap/a-egg", ".metadata.labels.seen", "yes")
        owner = run_kubectl("get", "cm", "a-egg", "-o",
                            "jsonpath={.metadata.ownerReferences[0].kind}")  # fmt: skip
        run_kubectl("delete", "nest", "a", PATIENCE)

    assert owner == "Nest"
    found = run_kubectl("get", "cm", "-l", "goodbye=said", "-o", "name", "--ignore-not-found")
    assert found.strip() in ("configmap/a-egg", "")  # a garbage collector may have been there


TROUBLE = """
    @kopf.on.create("example.com", "v1", "cases", retries=5)
    def twice(retry, patch, **_):
        if retry < 2:
            raise kopf.TemporaryError("not yet", delay=0.1)
        patch.status["tried"] = retry

    @kopf.on.create("example.com", "v1", "cases")
    def never(**_):
        raise kopf.PermanentError("no")

    @kopf.on.create("example.com", "v1", "cases")
    def parts(spec, **_):
        for number in range(spec["size"]):
            @kopf.subhandler(id=f"part{number}")
            def one(number=number, **_):
                return number

    @kopf.on.create("example.com", "v1", "cases")
    def announce(body, **_):
        kopf.info(body, reason="Announced", message="a case was made")
"""


def test_an_operator_tries_again_works_in_parts_and_posts_events(
    separate_server: RunningServer, run_kubectl: Kubectl, tmp_path: Path
) -> None:
    established(run_kubectl, kind_for("cases", "Case"))

    with operator(separate_server, tmp_path, TROUBLE):
        made(run_kubectl, "Case", "a", size=2)
        until(run_kubectl, "case/a", ".status.tried", "2")
        until(run_kubectl, "case/a", ".status.parts/part1", "1")
        query = ("get", "events", "--field-selector=reason=Announced", "-o", "name")
        eventually(lambda: bool(run_kubectl(*query)), "the event is posted")


FILTERS = """
    @kopf.on.create("example.com", "v1", "flags", labels={"tier": "gold"})
    def by_label(patch, **_):
        patch.status["label"] = "gold"

    @kopf.on.create("example.com", "v1", "flags", field="spec.color", value="red")
    def by_value(patch, **_):
        patch.status["value"] = "red"

    @kopf.on.create("example.com", "v1", "flags", when=lambda spec, **_: spec.get("size", 0) > 3)
    def by_function(patch, **_):
        patch.status["size"] = "large"

    @kopf.on.update("example.com", "v1", "flags", field="spec.color", old="red", new="blue")
    def by_change(patch, **_):
        patch.status["change"] = "red to blue"

    @kopf.index("example.com", "v1", "flags")
    def colors(name, spec, **_):
        return {spec.get("color"): name}

    @kopf.timer("example.com", "v1", "flags", interval=0.2, labels={"count": kopf.PRESENT})
    def counted(colors, patch, **_):
        patch.status["reds"] = len(list(colors.get("red", [])))
"""


def test_an_operator_filters_indexes_and_counts(
    separate_server: RunningServer, run_kubectl: Kubectl, tmp_path: Path
) -> None:
    established(run_kubectl, kind_for("flags", "Flag", "color"))

    with operator(separate_server, tmp_path, FILTERS):
        made(run_kubectl, "Flag", "a", {"tier": "gold"}, color="red", size=5)
        made(run_kubectl, "Flag", "b", {"count": "yes"}, color="red", size=1)
        until(run_kubectl, "flag/a", ".status.label", "gold")
        until(run_kubectl, "flag/a", ".status.value", "red")
        until(run_kubectl, "flag/a", ".status.size", "large")
        until(run_kubectl, "flag/b", ".status.reds", "2")
        run_kubectl("patch", "flag", "a", "--type=merge", "-p", '{"spec":{"color":"blue"}}')
        until(run_kubectl, "flag/a", ".status.change", "red to blue")
        until(run_kubectl, "flag/b", ".status.reds", "1")

    assert run_kubectl("get", "flag", "b", "-o", "jsonpath={.status.label}") == ""


SCHEMA_WATCHER = """
    @kopf.on.create("example.com", "v1", "clocks")
    def made(spec, patch, **_):
        patch.status["made"] = str(spec.get("color", "none"))
"""


def test_an_operator_goes_on_while_its_schema_changes(
    separate_server: RunningServer, run_kubectl: Kubectl, tmp_path: Path
) -> None:
    established(run_kubectl, kind_for("clocks", "Clock"))

    with operator(separate_server, tmp_path, SCHEMA_WATCHER):
        made(run_kubectl, "Clock", "a")
        until(run_kubectl, "clock/a", ".status.made", "none")
        for number, color in enumerate(("red", "blue")):
            fields = ["color", *(f"more{n}" for n in range(number))]
            established(run_kubectl, kind_for("clocks", "Clock", *fields))
            run_kubectl("explain", "clocks.spec.color")
            made(run_kubectl, "Clock", color, color=color)
            until(run_kubectl, f"clock/{color}", ".status.made", color)


PEERS = """
    @kopf.on.startup()
    def peered(settings, **_):
        settings.peering.name = "default"
        settings.peering.mandatory = True
        settings.peering.priority = {priority}

    @kopf.on.create("example.com", "v1", "crowns")
    def crowned(patch, **_):
        patch.status["by"] = "{name}"
"""


def test_the_operator_of_higher_priority_works_and_the_other_waits(
    separate_server: RunningServer, run_kubectl: Kubectl, tmp_path: Path
) -> None:
    established(run_kubectl, peering())
    established(run_kubectl, kind_for("crowns", "Crown"))
    metadata = {"name": "default", "namespace": "default"}
    body = {"apiVersion": "kopf.dev/v1", "kind": "KopfPeering", "metadata": metadata}
    run_kubectl("apply", "-f", "-", stdin=orjson.dumps(body).decode())
    low = PEERS.format(priority=1, name="low")
    high = PEERS.format(priority=9, name="high")

    def announced() -> int:
        peers = orjson.loads(run_kubectl("get", "kopfpeering", "default", "-o", "json"))
        return len(peers.get("status") or ())

    with operator(separate_server, tmp_path, high, "--peering=default", "--priority=9"):
        eventually(lambda: announced() == 1, "the higher one announces itself")
        # Who starts later finds the other announced, and never begins to work.
        with operator(separate_server, tmp_path, low, "--peering=default", "--priority=1"):
            eventually(lambda: announced() == 2, "the lower one announces itself")
            made(run_kubectl, "Crown", "a")
            until(run_kubectl, "crown/a", ".status.by", "high")
