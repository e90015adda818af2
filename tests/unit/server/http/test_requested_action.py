"""What a request wants to do, as authorizers see it, is what kube-apiserver makes of it."""

from __future__ import annotations

from typing import cast

import pytest

from proreus.net.http1.messages import Request
from proreus.server.http.exchange import Exchange
from proreus.server.http.stages.authorization import requested_action
from tests.unit.server.registry.server_under_test import Asked

PODS = "/api/v1/namespaces/n/pods"


@pytest.mark.parametrize(
    ("method", "path", "wanted"),
    [
        ("GET", PODS, "list pods in n"),
        ("HEAD", PODS, "list pods in n"),
        ("GET", "/api/v1/pods", "list pods"),
        ("GET", f"{PODS}?watch=1", "watch pods in n"),
        ("GET", f"{PODS}?watch=false", "list pods in n"),
        ("GET", "/api/v1/watch/namespaces/n/pods", "watch pods in n"),
        ("GET", "/api/v1/watch/namespaces/n/pods/p", "watch pods in n called p"),
        ("POST", "/api/v1/watch/pods", "watch pods"),
        ("GET", f"{PODS}?fieldSelector=metadata.name%3Dp", "list pods in n called p"),
        ("GET", f"{PODS}?fieldSelector=metadata.name!%3Dp", "list pods in n"),
        ("GET", f"{PODS}?fieldSelector=metadata.name%3Da%2Fb", "list pods in n"),
        ("GET", f"{PODS}?fieldSelector=nonsense", "list pods in n"),
        ("GET", f"{PODS}?watch=1&fieldSelector=metadata.name%3Dp", "watch pods in n called p"),
        ("DELETE", f"{PODS}?fieldSelector=metadata.name%3Dp", "deletecollection pods in n"),
        ("GET", f"{PODS}/p", "get pods in n called p"),
        ("GET", f"{PODS}/p?watch=1", "get pods in n called p"),
        ("HEAD", f"{PODS}/p", "get pods in n called p"),
        ("POST", PODS, "create pods in n"),
        ("PUT", f"{PODS}/p", "update pods in n called p"),
        ("PATCH", f"{PODS}/p", "patch pods in n called p"),
        ("DELETE", f"{PODS}/p", "delete pods in n called p"),
        ("DELETE", PODS, "deletecollection pods in n"),
        ("OPTIONS", f"{PODS}/p/proxy", " pods/proxy in n called p"),
        ("GET", f"{PODS}/p/log", "get pods/log in n called p"),
        ("POST", f"{PODS}/p/exec", "create pods/exec in n called p"),
        ("PUT", f"{PODS}/p/proxy/a/b", "update pods/proxy in n called p"),
        ("GET", "/api/v1/namespaces/n", "get namespaces in n called n"),
        ("PUT", "/api/v1/namespaces/n/finalize", "update namespaces/finalize in n called n"),
        ("GET", "/api/v1/namespaces", "list namespaces"),
        ("GET", "/apis/apps/v1/deployments", "list deployments.apps"),
        ("GET", "/metrics", "get /metrics"),
        ("POST", "/apis", "post /apis"),
        ("OPTIONS", "/version/", "options /version/"),
    ],
)
def test_method_and_path_say_what_is_wanted(method: str, path: str, wanted: str) -> None:
    plain, _, query = path.partition("?")
    asked = Asked(method, plain, {}, b"")
    asked.raw_query = query

    action = requested_action(Exchange(cast(Request, asked)))

    group = f".{action.group}" if action.group else ""
    where = f" in {action.namespace}" if action.namespace else ""
    name = f" called {action.name}" if action.name else ""
    what = action.path or f"{action.whole_resource}{group}{where}{name}"
    assert f"{action.verb} {what}" == wanted


@pytest.mark.parametrize(
    ("method", "path", "wanted"),
    [
        ("GET", f"{PODS}?labelSelector=a%3Db", ("", "a=b")),
        ("GET", f"{PODS}?watch=1&fieldSelector=x%3D1&labelSelector=a", ("x=1", "a")),
        ("DELETE", f"{PODS}?labelSelector=a&labelSelector=b", ("", "a")),
        ("GET", f"{PODS}?labelSelector=)", ("", ")")),
        ("GET", "/api/v1/watch/namespaces/n/pods?labelSelector=a", ("", "")),
        ("GET", f"{PODS}/p?labelSelector=a", ("", "")),
        ("POST", f"{PODS}?labelSelector=a", ("", "")),
    ],
)
def test_selectors_count_where_several_objects_are_asked_for(
    method: str, path: str, wanted: tuple[str, str]
) -> None:
    action = requested_action(Exchange(cast(Request, Asked(method, path, {}, b""))))

    assert (action.field_selector, action.label_selector) == wanted
