"""Why there is no log, and what is asked wrongly, in the kubelet's words."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.api.wire.query import parse_query
from proreus.cluster.kubelet.server.commands import stream_request
from proreus.cluster.kubelet.server.forward import wanted_ports
from proreus.cluster.kubelet.server.refusal import RequestRefused, has_container, log_unavailable


def pod(state: dict[str, Any] | None) -> KubeObject:
    statuses = [] if state is None else [{"name": "c", "state": state}]
    return KubeObject.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "c"}], "initContainers": [{"name": "i"}]},
            "status": {"containerStatuses": statuses},
        }
    )


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (None, "is not available"),
        ({"waiting": {"reason": "ContainerCreating"}}, "is waiting to start: ContainerCreating"),
        ({"waiting": {"reason": "ErrImagePull"}}, "is waiting to start: image can't be pulled"),
        (
            {"waiting": {"reason": "ImagePullBackOff"}},
            "is waiting to start: trying and failing to pull image",
        ),
        ({"terminated": {"exitCode": 1}}, "is terminated"),
        ({}, "is waiting to start - no logs yet"),
    ],
)
def test_no_log_has_a_reason(state: dict[str, Any] | None, said: str) -> None:
    assert log_unavailable(pod(state), "c", previous=False) == f'container "c" in pod "p" {said}'


def test_no_log_from_before() -> None:
    said = log_unavailable(pod({"running": {}}), "c", previous=True)

    assert said == 'previous terminated container "c" in pod "p" not found'


def test_init_containers_are_containers() -> None:
    assert has_container(pod(None), "i")
    assert not has_container(pod(None), "x")


def test_a_command_without_any_stream_is_refused() -> None:
    with pytest.raises(RequestRefused, match="at least 1 of stdin, stdout, stderr"):
        stream_request(parse_query("command=ls"))


def test_a_terminal_has_no_second_output() -> None:
    wanted = stream_request(parse_query("input=1&output=1&error=1&tty=1&command=sh&command=-c"))

    assert (wanted.stderr, wanted.tty, wanted.command) == (False, True, ("sh", "-c"))


def test_ports_may_be_listed_either_way() -> None:
    assert wanted_ports(parse_query("port=80&port=81,82")) == [80, 81, 82]


@pytest.mark.parametrize("query", ["", "port=", "port=0", "port=x", "port=65536", "port=80,"])
def test_what_is_no_port_is_refused(query: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        wanted_ports(parse_query(query))

    assert refused.value.code == 400
