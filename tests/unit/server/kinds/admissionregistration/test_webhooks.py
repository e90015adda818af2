"""Webhooks that admission calls."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from proreus.server.offload import NeedsThread
from tests.unit.server.kinds.creating import errors, rules_of
from tests.unit.server.validated import at_once


@pytest.mark.parametrize(
    ("path", "problems"),
    [
        ("/", []),
        ("/a/b/", []),
        ("//", ["segment[0] may not be empty"]),
        ("x/y", ["must start with a '/'", "segment[0] may not be empty"]),
        ("/a//b", ["segment[1] may not be empty"]),
    ],
)
def test_the_path_of_a_webhook(path: str, problems: list[str]) -> None:
    hook = {
        "name": "a.b.c",
        "clientConfig": {"service": {"namespace": "n", "name": "s", "path": path}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    at = f'webhooks[0].clientConfig.service.path: Invalid value: "{path}": '

    found = errors(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", webhooks=[hook]
    )

    assert found == [at + problem for problem in problems]


def test_a_webhook_names_each_version_once() -> None:
    hook = {
        "name": "a.b.c",
        "clientConfig": {"url": "https://a.example"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1", "v1"],
    }

    assert errors(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", webhooks=[hook]
    ) == ['webhooks[0].admissionReviewVersions[1]: Invalid value: "v1": duplicate version']


def hook(**more: Any) -> Any:
    return {
        "name": "a.b.c",
        "clientConfig": {"url": "https://a.example"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }


GROUP, KIND = "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"
FORM = "; desired format: https://host[/path]"
ONLY_HTTPS = f"'https' is the only allowed URL scheme{FORM}"
NO_HOST = f"host must be specified{FORM}"


@pytest.mark.parametrize(
    ("url", "problems"),
    [
        ("HTTPS://a]b/c", []),
        ("a", [f'Invalid value: "": {ONLY_HTTPS}', f'Invalid value: "": {NO_HOST}']),
        ("https://u:p@", [f'Invalid value: "": {NO_HOST}',
                          'Invalid value: "u:p": user information is not permitted in the URL']),
        ("https://a?b#c", ['Invalid value: "c": fragments are not permitted in the URL',
                           'Invalid value: "b": query parameters are not permitted in the URL']),
        ("https://a:b", ['Required value: url must be a valid URL: parse "https://a:b": '
                         f'invalid port ":b" after host{FORM}']),
    ],
)  # fmt: skip
def test_the_url_of_a_webhook(url: str, problems: list[str]) -> None:
    found = errors(GROUP, KIND, webhooks=[hook(clientConfig={"url": url})])

    assert found == [f"webhooks[0].clientConfig.url: {problem}" for problem in problems]


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        (" object.spec.replicas > 1 ", ""),
        ("authorizer.requestResource.check('update').allowed()", ""),
        ("object.spec.replicas", '"object.spec.replicas": must evaluate to bool but got dyn'),
        (" 'x' ", "\"'x'\": must evaluate to bool but got string"),
        ("params.a == 1",
         '"params.a == 1": compilation failed: ERROR: <input>:1:1: undeclared reference to '
         "'params' (in container '')\n | params.a == 1\n | ^"),
    ],
)  # fmt: skip
def test_a_condition_is_compiled_when_it_is_written(expression: str, why: str) -> None:
    pytest.importorskip("cel_expr_python.cel")
    condition = {"name": "m", "expression": expression}

    found = errors(GROUP, KIND, webhooks=[hook(matchConditions=[condition])])

    at = "webhooks[0].matchConditions[0].expression: Invalid value: "
    assert found == ([at + why] if why else [])


def test_conditions_that_nobody_changes_are_not_compiled_again() -> None:
    stored = {"webhooks": [hook(matchConditions=[{"name": "m", "expression": "no longer("}])]}
    rules = rules_of({"apiVersion": GROUP, "kind": KIND})
    changed = copy.deepcopy(stored)
    changed["webhooks"][0]["timeoutSeconds"] = 40

    found = at_once(rules.check_update(changed, stored))

    assert [error.field for error in found] == ["webhooks[0].timeoutSeconds"]


def test_more_conditions_than_the_loop_can_wait_for_are_compiled_in_a_thread() -> None:
    pytest.importorskip("cel_expr_python.cel")
    many = [{"name": f"m{number}", "expression": f"{number}"} for number in range(64)]
    rules = rules_of({"apiVersion": GROUP, "kind": KIND})

    found = rules.validate({"metadata": {}, "webhooks": [hook(matchConditions=many)]})

    assert isinstance(found, NeedsThread)
    assert len(found.work()) == 64


@pytest.mark.parametrize(
    ("service", "missing"),
    [({"name": "s"}, ["name"]), ({"namespace": "n"}, ["namespace"]), ({}, ["name", "namespace"])],
)
def test_name_and_namespace_of_a_service_are_taken_for_each_other(
    service: dict[str, str], missing: list[str]
) -> None:
    found = errors(GROUP, KIND, webhooks=[hook(clientConfig={"service": service})])

    at = "webhooks[0].clientConfig.service"
    assert found == [f"{at}.{key}: Required value: service {key} is required" for key in missing]


def test_a_name_that_is_no_domain_is_refused_once() -> None:
    found = errors(GROUP, KIND, webhooks=[hook(name="A_b")])

    assert len(found) == 1
    assert found[0].startswith('webhooks[0].name: Invalid value: "A_b": a lowercase RFC 1123')


def test_a_rule_for_reviews_is_warned_of() -> None:
    reviews = {"operations": ["CREATE"], "apiVersions": ["v1"]}
    named = {**reviews, "apiGroups": ["authentication.k8s.io", "apps"],
             "resources": ["tokenreviews", "deployments", "tokenreviews"]}  # fmt: skip
    starred = {**named, "apiGroups": ["*"]}
    given = {"webhooks": [hook(rules=[starred, named])]}

    found = rules_of({"apiVersion": GROUP, "kind": KIND}).warnings(given)

    assert found == [
        "webhooks[0].rules[1]: tokenreviews.authentication.k8s.io is excluded from admission "
        "webhooks; this rule will have no effect"
    ]


def test_a_name_that_is_kept_for_files_is_refused_on_create_only() -> None:
    name = "mine.static.k8s.io"
    rules = rules_of({"apiVersion": GROUP, "kind": KIND})

    found = errors(GROUP, KIND, metadata={"name": name}, webhooks=[])

    assert found == [
        f'metadata.name: Invalid value: "{name}": names ending with ".static.k8s.io" are reserved '
        "for static manifest-based configurations and cannot be managed via the API"
    ]
    stored = {"metadata": {"name": name}, "webhooks": []}
    assert at_once(rules.check_update(stored, stored)) == []
