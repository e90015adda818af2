"""Where a kubelet is found, and how its failures are worded."""

from __future__ import annotations

import pytest

from proreus.api.group_version import GroupResource
from proreus.api.status import PlainError
from proreus.net.client.transport_error import (
    ConnectFailed,
    ConnectionRefused,
    TransportError,
    TransportTimeout,
)
from proreus.server.http.kubelets import KubeletAddress, error_of, locate

AT = KubeletAddress("n", "10.0.0.1:10250")
URL = "https://10.0.0.1:10250/x"
LOG = GroupResource("", "pods/log")


def address(kind: str, text: str) -> dict[str, str]:
    return {"type": kind, "address": text}


@pytest.mark.parametrize(
    ("addresses", "found"),
    [
        ([address("Hostname", "n"), address("InternalIP", "10.0.0.1")], "10.0.0.1:7"),
        ([address("Hostname", "n"), address("ExternalIP", "1.2.3.4")], "1.2.3.4:7"),
        ([address("Hostname", "n")], "n:7"),
        ([address("InternalIP", "fd00::1")], "[fd00::1]:7"),
    ],
)
def test_a_node_s_best_address_counts(addresses: list[dict[str, str]], found: str) -> None:
    endpoints = {"kubeletEndpoint": {"Port": 7}}

    assert locate("n", {"addresses": addresses, "daemonEndpoints": endpoints}).address == found


def test_a_node_that_says_no_port_has_the_usual_one() -> None:
    assert locate("n", {"addresses": [address("InternalIP", "10.0.0.1")]}).address.endswith(
        ":10250"
    )


def test_a_node_without_an_address_cannot_be_reached() -> None:
    with pytest.raises(PlainError, match="no preferred addresses found"):
        locate("n", {})


def test_names_in_a_url_stay_names() -> None:
    assert AT.url("exec", "a/b", "..?", query="x=1").endswith("/exec/a%2Fb/..%3F?x=1")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConnectionRefused(URL, ""), "dial tcp 10.0.0.1:10250: connect: connection refused"),
        (
            ConnectFailed(URL, "No route to host"),
            "dial tcp 10.0.0.1:10250: connect: no route to host",
        ),
        (TransportTimeout(URL, ""), "dial tcp 10.0.0.1:10250: i/o timeout"),
    ],
)
def test_failures_are_worded_like_go_s(error: TransportError, said: str) -> None:
    assert AT.failure(error) == f'Get "{URL}": {said}'


@pytest.mark.parametrize(
    ("code", "said", "expected"),
    [
        (400, "no", (400, "BadRequest", "no")),
        (500, "no", (500, "InternalError", "Internal error occurred: no")),
        (
            404,
            "pod does not exist",
            (404, "NotFound", "the server could not find the requested resource ( pods/log p)"),
        ),
        (401, "Unauthorized", (500, None, "the node's kubelet answered 401: Unauthorized")),
    ],
)
def test_a_kubelet_s_refusal_is_reported_to_the_user(
    code: int, said: str, expected: tuple[int, str | None, str]
) -> None:
    status = error_of(code, said, LOG, "p").status

    assert (status["code"], status.get("reason"), status["message"]) == expected
