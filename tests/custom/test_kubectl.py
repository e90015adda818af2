"""kubectl and custom resources: one test per thing that users do with them."""

from __future__ import annotations

import subprocess
from typing import Any

import orjson
import pytest

from tests.custom.conversion_server import conversion_server
from tests.custom.definitions import INTEGER, TEXT, definition, version
from tests.custom.operators import PATIENCE, Kubectl, established
from tests.running_server import RunningServer

_CONDITIONS = {
    "type": "array",
    "items": {"type": "object", "properties": {"type": TEXT, "status": TEXT}},
}


def output_of(separate_server: RunningServer, *arguments: str, stdin: str | None = None) -> str:
    """What kubectl says on its error output, whether it fails or not."""
    done = subprocess.run(
        ["kubectl", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        env=separate_server.environment,
        timeout=180,
    )
    return done.stderr


def text_of(*bodies: dict[str, Any]) -> str:
    return "\n".join(orjson.dumps(body).decode() for body in bodies)


def lamp(plural: str, kind: str, **names: Any) -> dict[str, Any]:
    size = {**INTEGER, "description": "How many bulbs.", "default": 1, "maximum": 9}
    return definition(
        version(
            spec={"bulbs": size, "color": {**TEXT, "enum": ["red", "blue"]}},
            status={"phase": TEXT, "conditions": _CONDITIONS},
            subresources={"status": {}},
            selectableFields=[{"jsonPath": ".spec.color"}],
            additionalPrinterColumns=[
                {"name": "Bulbs", "type": "integer", "jsonPath": ".spec.bulbs"},
                {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
                {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1},
                {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
            ],
        ),
        plural=plural,
        kind=kind,
        **names,
    )


def instance(kind: str, name: str, api_version: str = "example.com/v1", **spec: Any) -> Any:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def test_columns_and_wide_columns_are_those_of_the_definition(run_kubectl: Kubectl) -> None:
    established(run_kubectl, lamp("lamps", "Lamp", shortNames=["lp"]))
    run_kubectl("apply", "-f", "-", stdin=text_of(instance("Lamp", "a", color="red")))
    run_kubectl("patch", "lamp", "a", "--subresource=status", "--type=merge",
                "-p", '{"status":{"phase":"On"}}')  # fmt: skip

    head, row = run_kubectl("get", "lamps").splitlines()
    wide_head, wide_row = run_kubectl("get", "lp", "-o", "wide").splitlines()

    assert head.split() == ["NAME", "BULBS", "PHASE", "AGE"]
    assert row.split()[:3] == ["a", "1", "On"]
    assert wide_head.split() == ["NAME", "BULBS", "PHASE", "COLOR", "AGE"]
    assert wide_row.split()[3] == "red"


def test_short_names_singulars_and_categories_find_it(run_kubectl: Kubectl) -> None:
    names = {"shortNames": ["tk"], "singular": "token", "categories": ["home"]}
    established(run_kubectl, lamp("tokens", "Token", **names))
    run_kubectl("apply", "-f", "-", stdin=text_of(instance("Token", "a")))

    for asked in ("tk", "token", "tokens", "tokens.example.com", "tokens.v1.example.com", "home"):
        assert run_kubectl("get", asked, "-o", "name").strip() == "token.example.com/a"
    listed = run_kubectl("api-resources", "--api-group=example.com", "--no-headers", "-o", "wide")
    row = next(line.split() for line in listed.splitlines() if line.startswith("tokens "))
    assert row[1:5] == ["tk", "example.com/v1", "true", "Token"]
    assert row[-1] == "home"


def test_fields_are_explained_with_their_descriptions(run_kubectl: Kubectl) -> None:
    established(run_kubectl, lamp("books", "Book"))

    one = run_kubectl("explain", "books.spec.bulbs")
    everything = run_kubectl("explain", "books", "--recursive")

    assert "FIELD: bulbs <integer>" in one
    assert "How many bulbs." in one
    assert "color\t<string>" in everything
    assert "metadata\t<ObjectMeta>" in everything


def test_json_and_merge_patches_are_taken_and_strategic_ones_refused(
    separate_server: RunningServer, run_kubectl: Kubectl
) -> None:
    established(run_kubectl, lamp("chairs", "Chair"))
    run_kubectl("apply", "-f", "-", stdin=text_of(instance("Chair", "a")))

    run_kubectl("patch", "chair", "a", "--type=merge", "-p", '{"spec":{"bulbs":3}}')
    operations = '[{"op":"add","path":"/spec/color","value":"blue"}]'
    run_kubectl("patch", "chair", "a", "--type=json", "-p", operations)
    refused = output_of(separate_server, "patch", "chair", "a", "--type=strategic", "-p", "{}")

    assert run_kubectl("get", "chair", "a", "-o", "jsonpath={.spec}") == (
        '{"bulbs":3,"color":"blue"}'
    )
    assert "UnsupportedMediaType" in refused or "application/strategic-merge-patch" in refused


def test_it_waits_for_conditions_of_instances(run_kubectl: Kubectl) -> None:
    established(run_kubectl, lamp("doors", "Door"))
    run_kubectl("apply", "-f", "-", stdin=text_of(instance("Door", "a")))
    ready = '{"status":{"phase":"Open","conditions":[{"type":"Ready","status":"True"}]}}'

    run_kubectl("patch", "door", "a", "--subresource=status", "--type=merge", "-p", ready)

    run_kubectl("wait", "door/a", "--for=condition=Ready", PATIENCE)
    run_kubectl("wait", "door/a", "--for=jsonpath={.status.phase}=Open", PATIENCE)
    run_kubectl("delete", "door", "a", "--wait=false")
    run_kubectl("wait", "door/a", "--for=delete", PATIENCE)


def test_instances_are_selected_by_fields_and_labels(run_kubectl: Kubectl) -> None:
    established(run_kubectl, lamp("cups", "Cup"))
    bodies = [instance("Cup", "a", color="red"), instance("Cup", "b", color="blue")]
    run_kubectl("apply", "-f", "-", stdin=text_of(*bodies))
    run_kubectl("label", "cup", "a", "on=table")

    by_field = run_kubectl("get", "cups", "--field-selector=spec.color=blue", "-o", "name")
    by_label = run_kubectl("get", "cups", "-l", "on=table", "-o", "name")

    assert by_field.strip() == "cup.example.com/b"
    assert by_label.strip() == "cup.example.com/a"


def test_a_deprecated_version_warns(separate_server: RunningServer, run_kubectl: Kubectl) -> None:
    old = version("v1alpha1", storage=False, deprecated=True, spec={"bulbs": INTEGER})
    worded = version("v1beta1", storage=False, deprecated=True, deprecationWarning="Go to v1.",
                     spec={"bulbs": INTEGER})  # fmt: skip
    body = definition(version(spec={"bulbs": INTEGER}), worded, old, plural="forks", kind="Fork")
    established(run_kubectl, body)

    warned = output_of(separate_server, "get", "forks.v1alpha1.example.com")
    in_words = output_of(separate_server, "get", "forks.v1beta1.example.com")
    quiet = output_of(separate_server, "get", "forks.v1.example.com")

    use = "Warning: example.com/v1alpha1 Fork is deprecated; use example.com/v1 Fork"
    assert use in warned
    assert "Warning: Go to v1." in in_words
    assert "Warning" not in quiet


def test_what_is_wrong_is_reported_at_the_terminal(
    separate_server: RunningServer, run_kubectl: Kubectl
) -> None:
    established(run_kubectl, lamp("pans", "Pan"))
    wrong = instance("Pan", "a", bulbs=10, color="green")
    unknown = instance("Pan", "a", colour="red")

    refused = output_of(separate_server, "create", "-f", "-", stdin=text_of(wrong))
    strict = output_of(separate_server, "create", "-f", "-", stdin=text_of(unknown))

    assert 'spec.color: Unsupported value: "green": supported values: "red", "blue"' in refused
    assert "spec.bulbs in body should be less than or equal to 9" in refused
    assert 'unknown field "spec.colour"' in strict


def test_edit_diff_and_dry_run_see_what_would_be(run_kubectl: Kubectl) -> None:
    established(run_kubectl, lamp("pots", "Pot"))
    run_kubectl("apply", "-f", "-", stdin=text_of(instance("Pot", "a", color="red")))

    run_kubectl("edit", "pot", "a", KUBE_EDITOR="sed -i s/red/blue/")
    dry = run_kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-",
                      "-o", "jsonpath={.spec.bulbs}",
                      stdin=text_of(instance("Pot", "a", bulbs=5)))  # fmt: skip

    assert dry == "5"
    assert run_kubectl("get", "pot", "a", "-o", "jsonpath={.spec}") == '{"bulbs":1,"color":"blue"}'


def test_status_has_its_own_endpoint(run_kubectl: Kubectl) -> None:
    established(run_kubectl, lamp("jars", "Jar"))
    run_kubectl("apply", "-f", "-", stdin=text_of(instance("Jar", "a")))

    run_kubectl("patch", "jar", "a", "--type=merge", "-p", '{"status":{"phase":"Lost"}}')
    main = run_kubectl("get", "jar", "a", "-o", "jsonpath={.status}")
    run_kubectl("patch", "jar", "a", "--subresource=status", "--type=merge",
                "-p", '{"status":{"phase":"Kept"},"spec":{"bulbs":9}}')  # fmt: skip

    assert main == ""
    found = run_kubectl("get", "jar", "a", "-o", "jsonpath={.status.phase} {.spec.bulbs}")
    assert found == "Kept 1"


def test_deleting_the_definition_takes_the_instances_and_the_kind(
    separate_server: RunningServer, run_kubectl: Kubectl
) -> None:
    body = lamp("ropes", "Rope")
    established(run_kubectl, body)
    run_kubectl("apply", "-f", "-", stdin=text_of(instance("Rope", "a"), instance("Rope", "b")))

    run_kubectl("delete", "crd", "ropes.example.com", PATIENCE)

    gone = output_of(separate_server, "get", "ropes")
    # What it says depends on how long ago it asked which kinds there are.
    assert "the server could not find the requested resource" in gone or "resource type" in gone
    established(run_kubectl, body)
    assert run_kubectl("get", "ropes", "-o", "name") == ""


def test_definition_and_instances_may_come_in_one_file(run_kubectl: Kubectl) -> None:
    established(run_kubectl, lamp("rings", "Ring"))
    bodies = [lamp("rings", "Ring"), instance("Ring", "a"), instance("Ring", "b", color="red")]

    first = run_kubectl("apply", "-f", "-", stdin=text_of(*bodies))
    again = run_kubectl("apply", "-f", "-", stdin=text_of(*bodies))

    assert "ring.example.com/a created" in first
    assert again.count("unchanged") == 3


def test_versions_that_a_webhook_converts_are_applied_and_rendered(run_kubectl: Kubectl) -> None:
    size = {"type": "object", "properties": {"size": INTEGER}}
    column = {"name": "Size", "type": "integer"}
    with conversion_server() as hook:
        body = definition(
            version(spec={"size": INTEGER},
                    additionalPrinterColumns=[{**column, "jsonPath": ".spec.size"}]),
            version("v2", storage=False, spec={"dimensions": size},
                    additionalPrinterColumns=[{**column, "jsonPath": ".spec.dimensions.size"}]),
            plural="boxes",
            kind="Box",
        )  # fmt: skip
        body["spec"]["conversion"] = hook.conversion()
        established(run_kubectl, body)
        old = instance("Box", "a", size=1)
        new = instance("Box", "b", "example.com/v2", dimensions={"size": 2})

        run_kubectl("apply", "-f", "-", stdin=text_of(old, new))
        run_kubectl("apply", "--server-side", "-f", "-", stdin=text_of(
            instance("Box", "c", "example.com/v2", dimensions={"size": 3})))  # fmt: skip
        printed = {
            asked: [row.split() for row in run_kubectl("get", asked, "--no-headers").splitlines()]
            for asked in ("boxes.v1.example.com", "boxes.v2.example.com")
        }
        one = run_kubectl("get", "boxes.v1.example.com", "b", "-o", "jsonpath={.spec}")
        run_kubectl("delete", "crd", "boxes.example.com", PATIENCE)

    assert set(map(str, printed.values())) == {"[['a', '1'], ['b', '2'], ['c', '3']]"}
    assert one == '{"size":2}'


@pytest.mark.parametrize("output", ["yaml", "json", "name"])
def test_it_prints_instances_in_every_form(run_kubectl: Kubectl, output: str) -> None:
    established(run_kubectl, lamp("bells", "Bell"))
    run_kubectl("apply", "-f", "-", stdin=text_of(instance("Bell", "a", color="red")))

    printed = run_kubectl("get", "bell", "a", "-o", output)

    assert {"yaml": "color: red", "json": '"color": "red"', "name": "bell.example.com/a"}[
        output
    ] in printed
    assert "Bulbs" in run_kubectl("describe", "bell", "a")
