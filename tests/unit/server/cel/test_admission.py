"""Expressions of webhooks and policies: what they see, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("cel_expr_python.cel")

from proreus.server.cel.admission import (
    CALL_LIMIT,
    ExpressionInvalid,
    admission_checker,
    admission_variables,
    compile_expression,
)
from proreus.server.cel.checker import Checker
from proreus.server.cel.functions.authorization import Authorizer, CheckResult, Question
from proreus.server.cel.shapes import Field, ShapeKind, ValueShape
from proreus.server.cel.steps import LazyFields
from proreus.server.cel.values import EvaluationError

OBJECT = {"metadata": {"name": "web", "labels": {"tier": "front"}}, "spec": {"replicas": 3}}
REQUEST = {
    "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
    "requestKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
    "operation": "CREATE",
    "namespace": "shop",
    "userInfo": {"username": "ann", "groups": ["dev"], "extra": {"scopes": ["a", "b"]}},
    "dryRun": False,
    "options": {"kind": "CreateOptions"},
}


def only_pods(question: Question) -> CheckResult:
    if question.resource == "pods" and question.verb == "get":
        return CheckResult(True, "pods are for all")
    return CheckResult(False)


def evaluate(text: str) -> Any:
    program = compile_expression(admission_checker(), text, ()).program
    authorizer = Authorizer(only_pods)
    resource = authorizer.group("").resource("pods")
    values = (OBJECT, None, None, REQUEST, authorizer, resource)
    outcome = program.run(values, CALL_LIMIT)
    return outcome.error or outcome.value


@pytest.mark.parametrize(
    "text",
    [
        "object.spec.replicas == 3 && object.metadata.labels['tier'] == 'front'",
        "oldObject == null && namespaceObject == null",
        "request.operation == 'CREATE' && request.namespace == 'shop'",
        "request.kind == request.requestKind",
        "request.userInfo.extra['scopes'].exists(scope, scope == 'b')",
        "request.options.kind == 'CreateOptions'",
        "authorizer.group('').resource('pods').namespace('x').name('y').check('get').allowed()",
        "authorizer.group('').resource('pods').check('get').reason() == 'pods are for all'",
        "!authorizer.path('/healthz').check('get').allowed()",
        "authorizer.serviceAccount('x', 'y').group('').resource('pods').check('get').allowed()",
        "authorizer.requestResource.subresource('log').fieldSelector('a=b').check('get').allowed()",
        "!has(object.status) && !has(object.spec.paused)",
    ],
)
def test_an_expression_sees_the_request_and_may_ask_the_authorizer(text: str) -> None:
    assert evaluate(text) is True


@pytest.mark.parametrize(
    "text", ["base64.encode(b'a') == ''", "math.abs(1) == 1", "'ab'.reverse() == 'ba'"]
)
def test_extensions_that_kubernetes_leaves_out_are_unknown(text: str) -> None:
    with pytest.raises(ExpressionInvalid, match=r"undeclared reference|found no matching overload"):
        compile_expression(admission_checker(), text)


def test_texts_of_unknown_type_are_not_reversed() -> None:
    assert evaluate("dyn('ab').reverse() == []") == "no such overload: reverse(string)"


def test_what_is_missing_fails_at_run_time_since_objects_have_no_declared_type() -> None:
    assert evaluate("object.spec.template.name == 'x'") == "no such key: template"
    assert evaluate("authorizer.serviceAccount('x', 'N!').path('/').check('get').allowed()") == (
        "Invalid service account name"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("'x'", "must evaluate to bool but got string"),
        ("object.spec.paused", "must evaluate to bool but got dyn"),
        ("[1]", "must evaluate to bool but got list(int)"),
        ("{'a': timestamp('2020-01-01T00:00:00Z')}",
         "must evaluate to bool but got map(string, google.protobuf.Timestamp)"),
        ("null", "must evaluate to bool but got null_type"),
        ("request", "must evaluate to bool but got kubernetes.AdmissionRequest"),
        ("[request.kind]", "must evaluate to bool but got list(kubernetes.GroupVersionKind)"),
        ("namespaceObject", "must evaluate to bool but got kubernetes.Namespace"),
        ("type([1])", "must evaluate to bool but got type(list(int))"),
        ("params.size == 1",
         "compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' "
         "(in container '')\n | params.size == 1\n | ^"),
        ("true && nothing . at . all",
         "compilation failed: ERROR: <input>:1:9: undeclared reference to 'nothing' "
         "(in container '')\n | true && nothing . at . all\n | ........^"),
        ("request.uid == ''",
         "compilation failed: ERROR: <input>:1:8: undefined field 'uid'\n"
         " | request.uid == ''\n | .......^"),
        ("request.userInfo + 1",
         "compilation failed: ERROR: <input>:1:18: found no matching overload for '_+_' applied to "
         "'(kubernetes.UserInfo, int)'\n | request.userInfo + 1\n | .................^"),
    ],
)  # fmt: skip
def test_an_expression_is_refused_in_the_words_of_kubernetes(text: str, why: str) -> None:
    with pytest.raises(ExpressionInvalid) as refused:
        compile_expression(admission_checker(), text)
    assert str(refused.value) == why


def test_fields_made_on_demand_are_made_once_and_charged_to_who_reads_them_first() -> None:
    made: list[str] = []

    def make(name: str) -> tuple[Any, int]:
        made.append(name)
        if name == "broken":
            raise EvaluationError("no such key: x")
        return 7, 1000

    fields = {name: Field(name, ValueShape(ShapeKind.ANY)) for name in ("seven", "broken")}
    variables = ValueShape(ShapeKind.OBJECT, fields=fields)
    checker = Checker(admission_variables(more={"variables": variables}))
    lazy = LazyFields(make)
    values = (None, None, None, None, lazy, None, None)

    def cost_of(text: str) -> int:
        return compile_expression(checker, text).program.run(values, CALL_LIMIT).cost

    assert cost_of("variables.seven == 7 && variables.seven == 7") > 1000
    assert cost_of("variables.seven == 7") < 10
    outcome = compile_expression(checker, "variables.broken == 7").program.run(values, CALL_LIMIT)

    assert outcome.error == "no such key: x"
    assert made == ["seven", "broken"]
