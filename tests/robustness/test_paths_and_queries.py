"""Paths and parameters are only ever read as what they are: no trick reaches another object."""

from __future__ import annotations

import pytest
import pytest_asyncio

from proreus.server.app import ApiServer
from tests.robustness.wire import CONFIG_MAPS, Answer, ask, assert_alive, config_map, names

SECRETS = "/api/v1/namespaces/kube-system/secrets"
NAMESPACED = "/api/v1/namespaces"

TRICKS = {
    "two dots as name": (f"{CONFIG_MAPS}/..", 400),
    "escaped dots as name": (f"{CONFIG_MAPS}/%2e%2e", 400),
    "one dot as name": (f"{CONFIG_MAPS}/.", 400),
    "a percent sign as name": (f"{CONFIG_MAPS}/%25", 400),
    "up to another namespace": (f"{CONFIG_MAPS}/../../kube-system/secrets/hidden", 404),
    "escaped, up to another": (f"{CONFIG_MAPS}/..%2f..%2fkube-system%2fsecrets%2fhidden", 404),
    "escaped twice": (f"{CONFIG_MAPS}/..%252f..%252fkube-system%252fsecrets", 400),
    "a namespace of dots": (f"{NAMESPACED}/../secrets/hidden", 404),
    "a namespace of escaped dots": (f"{NAMESPACED}/%2e%2e/secrets/hidden", 404),
    "a NUL as name": (f"{CONFIG_MAPS}/%00", 404),
    "a NUL behind a name": (f"{SECRETS}/hidden%00", 404),
    "a line break": (f"{CONFIG_MAPS}/a%0d%0aX-Evil:%201", 404),
    "overlong UTF-8": (f"{CONFIG_MAPS}/%c0%af", 404),
    "no UTF-8": (f"{CONFIG_MAPS}/%ff%fe", 404),
    "a broken escape": (f"{CONFIG_MAPS}/%zz", 400),
    "half an escape": (f"{CONFIG_MAPS}/%2", 400),
    "two slashes in front": (f"/{SECRETS}/hidden", 404),
    "two slashes inside": ("/api//v1/namespaces/kube-system/secrets/hidden", 404),
    "a backslash": (f"{CONFIG_MAPS}\\..\\a", 404),
    "another version": ("/api/v2/namespaces/default/configmaps/a", 404),
    "an unknown group": ("/apis/no.such.group/v1/things", 404),
    "an unknown resource": ("/api/v1/namespaces/default/things", 404),
    "an unknown subresource": (f"{CONFIG_MAPS}/a/burn", 404),
    "a resource of another group": ("/apis/apps/v1/namespaces/default/pods/a", 404),
    "a cluster's resource in a namespace": (f"{NAMESPACED}/default/nodes/a", 404),
    "a namespaced one without": ("/api/v1/secrets/hidden", 404),
    "outside of everything": ("/etc/passwd", 404),
    "a file": ("/../../../../etc/passwd", 404),
    "a very long name": (f"{CONFIG_MAPS}/{'a' * 60_000}", 404),
    "a path of 20,000 parts": ("/api/v1" + "/a" * 20_000, 404),
    "a longer URL than allowed": (f"{CONFIG_MAPS}/{'a' * 100_000}", 400),
}


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def server(lasting_server: ApiServer) -> ApiServer:
    return lasting_server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hidden(lasting_server: ApiServer) -> Answer:
    body = b'{"metadata":{"name":"hidden"},"stringData":{"password":"open sesame"}}'
    return await ask(lasting_server, "POST", SECRETS, body)


@pytest.mark.parametrize("what", TRICKS)
async def test_a_trick_in_the_path_reaches_nothing(
    server: ApiServer, hidden: Answer, what: str
) -> None:
    path, code = TRICKS[what]

    read = await ask(server, "GET", path)
    removed = await ask(server, "DELETE", path)

    assert read.code == code, read
    assert removed.code in (code, 405), removed
    assert b"x-evil" not in b"".join(name.encode() for name in read.headers)
    assert (await ask(server, "GET", f"{SECRETS}/hidden")).json == hidden.json
    await assert_alive(server)


@pytest.mark.parametrize("namespace", ["..", ".", "%2e%2e", "%00", "a%2fb", "A", "%ff", "no-such"])
async def test_nothing_is_created_in_a_namespace_that_cannot_be(
    server: ApiServer, namespace: str
) -> None:
    path = f"{NAMESPACED}/{namespace}/configmaps"

    created = await ask(server, "POST", path, config_map("a"))

    assert created.code in (400, 404, 405), created
    assert created.reason != "InternalError"
    users = "fieldSelector=metadata.namespace!=kube-system"
    assert await names(server, f"/api/v1/configmaps?{users}") == []


DIGITS = "1" * 5_000
LIST_OPTIONS = {
    "a limit that is text": ("limit=many", 400),
    "an empty limit": ("limit=", 400),
    "a limit out of range": ("limit=99999999999999999999", 400),
    "a limit of 5,000 digits": (f"limit={DIGITS}", 400),
    "a negative limit": ("limit=-1", 200),
    "timeoutSeconds of 5,000 digits": (f"timeoutSeconds={DIGITS}", 400),
    "a resourceVersion that is text": ("resourceVersion=new", 400),
    "a resourceVersion of 5,000 digits": (f"resourceVersion={DIGITS}", 400),
    "an unknown match": ("resourceVersion=1&resourceVersionMatch=Roughly", 422),
    "a match without a version": ("resourceVersionMatch=Exact", 422),
    "a broken label selector": ("labelSelector=a%20in%20(", 400),
    "60,000 brackets": (f"labelSelector={'(' * 60_000}", 400),
    "a bad label key": ("labelSelector=/", 400),
    "an unknown field": ("fieldSelector=spec.colour=red", 400),
    "a broken field selector": ("fieldSelector=%5C", 400),
    "a token of 5,000 open lists": ("limit=1&continue=" + "W1tb" * 1_666, 400),
    "a forged token": ("limit=1&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", 400),
    "a token that is no base64": ("limit=1&continue=%00%ff", 400),
    "initial events of a list": ("sendInitialEvents=true", 422),
    "a timeout of 60,000 digits": (f"timeout={'1' * 60_000}", 400),
    "an unknown parameter": ("colour=red", 200),
    "a parameter 10,000 times": ("&".join(["limit=1"] * 8_000), 200),
    "a broken escape": ("labelSelector=%zz", 200),
    "a semicolon": ("labelSelector=a;limit=x", 200),
    "only separators": ("&&&===&&&", 200),
}


@pytest.mark.parametrize("what", LIST_OPTIONS)
async def test_a_list_option_is_validated_as_kubernetes_does(server: ApiServer, what: str) -> None:
    query, code = LIST_OPTIONS[what]

    answer = await ask(server, "GET", f"{CONFIG_MAPS}?{query}")

    assert answer.code == code, answer
    assert code == 200 or answer.reason == {400: "BadRequest", 422: "Invalid"}[code]


@pytest.mark.parametrize(
    "query",
    ["dryRun=Some", "dryRun=", "fieldValidation=Perhaps", f"fieldManager={'x' * 200}"]
    + ["fieldManager=%07", "fieldManager=%ff%00"],
)
async def test_a_bad_write_option_is_refused_and_nothing_is_stored(
    server: ApiServer, query: str
) -> None:
    answer = await ask(server, "POST", f"{CONFIG_MAPS}?{query}", config_map("a"))

    assert (answer.code, answer.reason) == (422, "Invalid"), answer
    assert await names(server) == []


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "BREW", "get", "HEAD", "PUT", "CONNECT"])
async def test_an_unknown_method_is_not_allowed(server: ApiServer, method: str) -> None:
    answer = await ask(server, method, CONFIG_MAPS)

    assert answer.code in (400, 404, 405), answer
    await assert_alive(server)


@pytest.mark.parametrize("target", ["*", "api/v1", "http://[::1/x", "http://x", "?", "#"])
async def test_a_target_that_is_no_path_finds_nothing(server: ApiServer, target: str) -> None:
    assert (await ask(server, "GET", target)).code in (400, 404)
    await assert_alive(server)
