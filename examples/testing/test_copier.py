"""A program of the official client, tested by a plain test: it gets a kubeconfig."""

from __future__ import annotations

from pathlib import Path

import pytest
from copier import copy_labelled
from kubernetes import client, config

from proreus.api.status import ServiceUnavailable
from proreus.blocking import Client
from proreus.testing import BlockingServer


@pytest.fixture
def api(proreus_kubeconfig: Path) -> client.CoreV1Api:
    config.load_kube_config(str(proreus_kubeconfig))
    return client.CoreV1Api()


@pytest.fixture
def secret(proreus_blocking_client: Client) -> str:
    metadata = {"name": "password", "labels": {"copy": "yes"}}
    proreus_blocking_client.core_v1.secrets("default").create({"metadata": metadata})
    proreus_blocking_client.core_v1.namespaces.create({"metadata": {"name": "copies"}})
    return "password"


def test_a_labelled_secret_is_copied(
    api: client.CoreV1Api, secret: str, proreus_blocking_client: Client
) -> None:
    assert copy_labelled(api, "copies") == 1

    assert proreus_blocking_client.core_v1.secrets("copies").get(secret).name == secret


def test_a_second_run_patches(
    api: client.CoreV1Api, secret: str, proreus_blocking_server: BlockingServer
) -> None:
    copy_labelled(api, "copies")
    copy_labelled(api, "copies")

    proreus_blocking_server.requests.of("patch", "secrets", secret, "copies").happened(times=1)


def test_a_server_that_is_not_available_is_an_error(
    api: client.CoreV1Api, secret: str, proreus_blocking_server: BlockingServer
) -> None:
    proreus_blocking_server.fail("list", "secrets", ServiceUnavailable)

    with pytest.raises(client.ApiException, match="503"):
        copy_labelled(api, "copies")
