"""Path and method → verb (server.md §1.1)."""

from __future__ import annotations

import pytest

from proreus.api.status import MethodNotAllowed, NotFound
from proreus.api.wire.path import ApiPath, split
from proreus.server.http.router import PageNotFound, ResourceRoute, Router
from proreus.server.kinds import builtin_resources
from proreus.server.registry.catalog import Catalog
from proreus.server.resource import CustomVersion, Names, Resource


@pytest.fixture(scope="module")
def router() -> Router:
    return Router(Catalog(builtin_resources()))


@pytest.fixture(scope="module")
def custom() -> Router:
    things = Resource(
        names=Names.of("x.io", "v1", "Thing", "things"),
        namespaced=True,
        has_status=True,
        custom=CustomVersion(),
    )
    return Router(Catalog([things]))


def routed(router: Router, method: str, path: str) -> str:
    target = split(path)
    assert isinstance(target, ApiPath)
    try:
        route = router.route(method, target)
    except NotFound:
        return "404"
    except MethodNotAllowed:
        return "405"
    if isinstance(route, PageNotFound):
        return "no page"
    assert isinstance(route, ResourceRoute)
    below = f"/{route.subresource.name}" if route.subresource else ""
    watched = " (watch)" if route.is_legacy_watch else ""
    return f"{route.verb} {route.resource.plural}{below}{watched}"


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/v1/pods", "list pods"),
        ("GET", "/api/v1/namespaces/n/pods", "list pods"),
        ("POST", "/api/v1/namespaces/n/pods", "create pods"),
        ("DELETE", "/api/v1/namespaces/n/pods", "deletecollection pods"),
        ("POST", "/api/v1/pods", "405"),
        ("DELETE", "/api/v1/pods", "405"),
        ("GET", "/api/v1/pods/p", "404"),
        ("PUT", "/api/v1/namespaces/n/pods/p", "update pods"),
        ("POST", "/api/v1/namespaces/n/pods/p", "405"),
        ("HEAD", "/api/v1/namespaces/n/pods/p", "405"),
        ("get", "/api/v1/namespaces/n/pods/p", "405"),
        ("PATCH", "/api/v1/namespaces/n/pods/p/status", "patch pods/status"),
        ("POST", "/api/v1/namespaces/n/pods/p/binding", "create pods/binding"),
        ("GET", "/api/v1/namespaces/n/pods/p/binding", "405"),
        ("GET", "/api/v1/namespaces/n/pods/p/nope", "404"),
        ("GET", "/api/v1/namespaces/n/configmaps/a/status", "404"),
        ("GET", "/api/v1/namespaces/n", "get namespaces"),
        ("DELETE", "/api/v1/namespaces", "405"),
        ("PUT", "/api/v1/namespaces/n/finalize", "update namespaces/finalize"),
        ("GET", "/api/v1/namespaces/n/nodes", "404"),
        ("GET", "/api/v1/namespaces/n/namespaces", "404"),
        ("GET", "/api/v1/namespaces//configmaps", "list configmaps"),
        ("GET", "/api/v1/namespaces/n//configmaps", "404"),
        ("GET", "/apis/apps/v1/deployments", "list deployments"),
        ("GET", "/apis/apps/v1beta1/deployments", "404"),
        ("GET", "/apis/nope.example.com/v1/things", "no page"),
        ("GET", "/apis/authentication.k8s.io/v1/tokenreviews", "405"),
        ("GET", "/apis/authentication.k8s.io/v1/tokenreviews/x", "404"),
        ("GET", "/api/v1/watch/namespaces/n/pods", "list pods (watch)"),
        ("GET", "/api/v1/watch/namespaces/n/pods/p", "list pods (watch)"),
        ("POST", "/api/v1/watch/pods", "405"),
        ("GET", "/api/v1/watch/componentstatuses", "404"),
        ("GET", "/api/v1/bindings", "404"),
        ("POST", "/api/v1/bindings", "404"),
        ("POST", "/apis/authorization.k8s.io/v1/localsubjectaccessreviews", "404"),
        ("GET", "/apis/authorization.k8s.io/v1/namespaces/a/localsubjectaccessreviews", "405"),
        ("POST", "/api/v1/pods", "405"),
    ],
)
def test_what_a_request_means(router: Router, method: str, path: str, expected: str) -> None:
    assert routed(router, method, path) == expected


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("HEAD", "/apis/x.io/v1/namespaces/n/things/a", "get things"),
        ("HEAD", "/apis/x.io/v1/things", "list things"),
        ("POST", "/apis/x.io/v1/namespaces/n/things/a", "create things"),
        ("DELETE", "/apis/x.io/v1/things", "no page"),
        ("OPTIONS", "/apis/x.io/v1/things", "no page"),
        # Kubernetes does not look at what comes after the subresource.
        ("GET", "/apis/x.io/v1/namespaces/n/things/a/status/more", "get things/status"),
        ("GET", "/apis/x.io/v1/namespaces/n/things/a/nope/more", "404"),
    ],
)
def test_what_a_request_for_custom_objects_means(
    custom: Router, method: str, path: str, expected: str
) -> None:
    assert routed(custom, method, path) == expected


@pytest.mark.parametrize("path", ["things", "things/a"])
def test_a_method_without_a_meaning_is_reported_as_a_verb_without_a_name(
    custom: Router, path: str
) -> None:
    target = split(f"/apis/x.io/v1/namespaces/n/{path}")
    assert isinstance(target, ApiPath)

    with pytest.raises(MethodNotAllowed) as refused:
        custom.route("OPTIONS", target)

    assert str(refused.value) == ' is not supported on resources of kind "things.x.io"'
