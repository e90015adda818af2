"""Who and what is refused: by the kubelet's endpoint, and by the API server before it."""

from __future__ import annotations

import ssl
import stat
from pathlib import Path

import httpx
import pytest

from proreus.net.tls import certificates, contexts, issuing
from proreus.net.tls.key_pairs import KeyPair, PairFiles
from tests.cluster.streams.conftest import Stage

POD = "/api/v1/namespaces/default/pods/web"


def kubelet_client(stage: Stage, pair: PairFiles | None) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=f"https://127.0.0.1:{stage.kubelet.port}",
        verify=contexts.trusting_context(pair),
        timeout=60,
    )


def written(folder: Path, pair: KeyPair) -> PairFiles:
    files = PairFiles(folder / "made.crt", folder / "made.key")
    files.certificate.write_bytes(pair.certificate)
    files.key.write_bytes(pair.key)
    return files


async def test_a_stranger_learns_only_that_the_kubelet_is_well(stage: Stage) -> None:
    await stage.pod()
    async with kubelet_client(stage, None) as stranger:
        healthy = await stranger.get("/healthz")
        others = [
            await stranger.get(path)
            for path in ("/pods", "/containerLogs/default/web/main", "/exec/default/web/main", "/")
        ]

    assert (healthy.status_code, healthy.text) == (200, "ok")
    assert [answer.status_code for answer in others] == [401] * 4


async def test_the_cluster_s_other_users_are_not_let_in(stage: Stage, tmp_path: Path) -> None:
    files = stage.server.api.credentials.tls
    assert files is not None
    now = stage.kubelet.clock.now()
    somebody = issuing.issue_client(files.authority.read(), "somebody", ["people"], now=now)

    async with kubelet_client(stage, written(tmp_path, somebody)) as client:
        answer = await client.get("/pods")

    assert (answer.status_code, answer.text) == (
        403,
        "Forbidden (user=somebody, verb=get, resource=nodes, subresource=proxy)",
    )


async def test_another_authority_s_api_server_is_not_let_in(stage: Stage, tmp_path: Path) -> None:
    now = stage.kubelet.clock.now()
    other = issuing.make_authority("other", now=now)
    forged = issuing.issue_client(other, certificates.KUBELET_CLIENT, ["system:masters"], now=now)

    async with kubelet_client(stage, written(tmp_path, forged)) as client:
        with pytest.raises((httpx.HTTPError, ssl.SSLError)):
            await client.get("/pods")


async def test_the_api_server_and_administrators_are_let_in(stage: Stage) -> None:
    await stage.pod()
    files = stage.server.api.credentials.tls
    assert files is not None
    for pair in (files.kubelet_client, files.admin):
        async with kubelet_client(stage, pair) as client:
            answer = (await client.get("/pods")).json()
        assert [pod["metadata"]["name"] for pod in answer["items"]] == ["web"]
    assert stat.S_IMODE(files.kubelet_client.key.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("/containerLogs/default/nobody/main", 404, 'pod "nobody" does not exist\n'),
        ("/containerLogs/default/web/x", 404, 'container "x" not found in pod "web"\n'),
        (
            "/containerLogs/default/web/main?tailLines=x",
            400,
            '{"message": "Unable to decode query."}',
        ),
        ("/containerLogs/default/web/main?tailLines=-1", 422, '{"message": "Invalid request."}'),
        ("/exec/default/web/main", 400, "you must specify at least 1 of stdin, stdout, stderr"),
        ("/exec/default/web/main?output=1", 400, "you must specify at least 1 command"),
        ("/exec/default/web/x?output=1&command=ls", 404, 'container not found ("x")'),
        ("/made/up", 404, "404 page not found\n"),
        ("/%zz", 400, "400 Bad Request"),
    ],
)
async def test_the_kubelet_says_what_is_wrong(
    stage: Stage, path: str, code: int, said: str
) -> None:
    await stage.pod()
    files = stage.server.api.credentials.tls
    assert files is not None
    async with kubelet_client(stage, files.kubelet_client) as client:
        url = httpx.URL(f"https://127.0.0.1:{stage.kubelet.port}").copy_with(raw_path=path.encode())
        answer = await client.get(url)

    assert (answer.status_code, answer.text) == (code, said)


def status(answer: httpx.Response) -> tuple[int, str, str]:
    said = answer.json()
    assert said["code"] == answer.status_code
    return said["code"], said.get("reason", ""), said["message"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/exec?command=ls", (400, "BadRequest", "Upgrade request required")),
        ("/attach", (400, "BadRequest", "Upgrade request required")),
        ("/portforward", (400, "BadRequest", "Upgrade request required")),
        ("/exec?container=x", (400, "BadRequest", "container x is not valid for pod web")),
        (
            "/log?tailLines=-1",
            (
                422,
                "Invalid",
                'PodLogOptions "web" is invalid: '
                "tailLines: Invalid value: -1: must be greater than or equal to 0",
            ),
        ),
        (
            "/log?limitBytes=x",
            (400, "BadRequest", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ),
        (
            "/portforward?ports=x",
            (400, "BadRequest", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ),
    ],
)
async def test_the_api_server_says_what_is_wrong(
    stage: Stage, http: httpx.AsyncClient, path: str, expected: tuple[int, str, str]
) -> None:
    await stage.pod()

    assert status(await http.get(POD + path)) == expected
    if not path.startswith("/log"):
        assert status(await http.post(POD + path)) == expected


@pytest.mark.parametrize("path", ["/exec?command=ls", "/attach", "/portforward"])
async def test_a_pod_on_no_node_cannot_be_entered(
    stage: Stage, http: httpx.AsyncClient, path: str
) -> None:
    await stage.pod(node="")

    answer = status(await http.post(POD + path))

    assert answer == (400, "BadRequest", "pod web does not have a host assigned")


@pytest.mark.parametrize(
    ("path", "way"),
    [
        ("/exec?command=ls", "v5.channel.k8s.io"),
        ("/portforward", "SPDY/3.1+portforward.k8s.io"),
    ],
)
async def test_spdy_is_answered_with_the_way_that_is_served(
    stage: Stage, http: httpx.AsyncClient, path: str, way: str
) -> None:
    await stage.pod()
    upgrade = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}

    code, reason, message = status(await http.post(POD + path, headers=upgrade))

    assert (code, reason) == (400, "BadRequest")
    assert message.startswith("SPDY/3.1 is not served: streams go over WebSocket")
    assert way in message


async def test_protocols_that_nobody_speaks_are_refused(
    stage: Stage, http: httpx.AsyncClient
) -> None:
    await stage.pod()
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol": "made-up",
    }

    code, _, message = status(await http.get(f"{POD}/exec?command=ls", headers=upgrade))

    assert code == 400
    assert "[made-up] are not supported" in message
