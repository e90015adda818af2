"""ConfigMaps, secrets and the pod's own fields are files and variables, and follow their source."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from proreus.net.tls.issuing import make_authority
from tests.cluster.process_runtime.conftest import Stage, shell, state, until_so


async def test_a_pod_finds_its_configuration_where_it_is_mounted(stage: Stage) -> None:
    await stage.config_map("settings", color="red", size="9")
    secret = {"metadata": {"name": "keys"}, "data": {"token": base64.b64encode(b"s").decode()}}
    await stage.client.core_v1.secrets("default").create(
        {"apiVersion": "v1", "kind": "Secret", **secret}
    )
    fields = [
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
        {"path": "deep/name", "fieldRef": {"fieldPath": "metadata.name"}},
    ]
    volumes = [
        {"name": "conf", "configMap": {"name": "settings"}},
        {"name": "keys", "secret": {"secretName": "keys", "defaultMode": 0o400}},
        {"name": "self", "downwardAPI": {"items": fields}},
    ]
    mounts = [
        {"name": "conf", "mountPath": "/etc/conf"},
        {"name": "conf", "mountPath": "/color.txt", "subPath": "color"},
        {"name": "keys", "mountPath": "/etc/keys", "readOnly": True},
        {"name": "self", "mountPath": "/etc/self"},
    ]
    env = [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    script = (
        "cat etc/conf/size color.txt etc/keys/token etc/self/labels etc/self/deep/name;"
        "echo; stat -Lc %a etc/keys/token; echo $POD_IP"
    )
    container = shell(script, volumeMounts=mounts, env=env)
    await stage.run("reader", container, volumes=volumes, restartPolicy="Never")

    pod = await stage.phase("reader", "Succeeded")

    lines = (await stage.logs("reader")).splitlines()
    assert lines == ['9redsapp="reader"reader', "400", pod.status.podIP]
    assert pod.status.podIP.startswith("127.")


async def test_files_follow_their_config_map(stage: Stage) -> None:
    await stage.config_map("settings", word="old")
    container = shell(
        "while :; do sleep 0.1; done", volumeMounts=[{"name": "conf", "mountPath": "/conf"}]
    )
    volumes = [{"name": "conf", "configMap": {"name": "settings"}}]
    pod = await stage.run("reader", container, volumes=volumes)
    await stage.ready("reader")
    word = stage.root(pod) / "conf/word"
    assert word.read_text() == "old"

    patch = {"data": {"word": "new", "other": "x"}}
    await stage.client.core_v1.configmaps("default").patch("settings", patch)

    await until_so(lambda: word.read_text() == "new")
    assert (stage.root(pod) / "conf/other").read_text() == "x"


async def test_a_file_has_the_trust_bundles_of_a_signer_and_follows_them(stage: Stage) -> None:
    bundles = stage.client.certificates_v1.clustertrustbundles
    roots = [make_authority(name, now=0).certificate.decode() for name in ("a", "b")]

    def bundle(number: int) -> dict[str, Any]:
        spec = {"signerName": "example.com/s", "trustBundle": roots[number]}
        return {"metadata": {"name": f"example.com:s:{number}"}, "spec": spec}

    await bundles.create(bundle(0))
    chosen = {"signerName": "example.com/s", "labelSelector": {}, "path": "roots.pem"}
    absent = {"name": "absent", "optional": True, "path": "none.pem"}
    sources = [{"clusterTrustBundle": chosen}, {"clusterTrustBundle": absent}]
    container = shell("sleep 1000", volumeMounts=[{"name": "trust", "mountPath": "/trust"}])
    pod = await stage.run(
        "client", container, volumes=[{"name": "trust", "projected": {"sources": sources}}]
    )
    await stage.ready("client")
    folder = stage.root(pod) / "trust"
    assert (folder / "roots.pem").read_text() == roots[0]
    assert (folder / "none.pem").read_text() == ""

    await bundles.create(bundle(1))

    await until_so(lambda: (folder / "roots.pem").read_text() == "".join(roots))


@pytest.mark.parametrize("use", ["volume", "variable"])
async def test_a_pod_waits_for_what_it_refers_to(stage: Stage, use: str) -> None:
    container: dict[str, Any] = shell("echo started; sleep 1000")
    volumes: list[dict[str, Any]] = []
    if use == "volume":
        volumes = [{"name": "conf", "configMap": {"name": "late"}}]
    else:
        container["envFrom"] = [{"configMapRef": {"name": "late"}}]
    await stage.run("early", container, volumes=volumes)

    if use == "volume":
        said = await stage.saw("FailedMount")
        assert said == 'MountVolume.SetUp failed for volume "conf" : configmap "late" not found'
    else:
        pod = await stage.until("early", _is_refused)
        assert state(pod).state.waiting.message == 'configmap "late" not found'
        assert pod.status.phase == "Pending"
    await stage.config_map("late", a="1")

    assert state(await stage.ready("early")).restartCount == 0


def _is_refused(pod: Any) -> bool:
    waiting = state(pod).state.waiting if pod.status.containerStatuses else None
    return waiting is not None and waiting.reason == "CreateContainerConfigError"


async def test_volumes_of_other_kinds_are_said_to_be_missing(stage: Stage) -> None:
    volumes = [{"name": "disk", "nfs": {"server": "s", "path": "/"}}]
    await stage.run("hopeful", shell("true"), volumes=volumes)

    said = await stage.saw("FailedMount")

    assert said.endswith("the process runtime has no volumes of this kind: nfs")


async def test_a_token_that_the_server_does_not_give_is_said_to_be_missing(stage: Stage) -> None:
    token = {"serviceAccountToken": {"path": "token"}}
    volumes = [{"name": "access", "projected": {"sources": [token]}}]
    await stage.run("trusting", shell("true"), volumes=volumes, serviceAccountName="default")

    assert "no token for service account default/default" in await stage.saw("FailedMount")


async def test_an_empty_folder_outlives_a_restart_and_a_root_does_not(stage: Stage) -> None:
    script = "if test -e keep/first; then ls; sleep 1000; fi; touch keep/first scratch; exit 1"
    mounts = [{"name": "keep", "mountPath": "/keep"}]
    await stage.run(
        "twice", shell(script, volumeMounts=mounts), volumes=[{"name": "keep", "emptyDir": {}}]
    )

    await stage.until("twice", lambda pod: bool(_restarts(pod) == 1 and state(pod).ready))
    async with stage.client.core_v1.pods("default").follow_logs("twice") as lines:
        seen = [await anext(lines), await anext(lines)]

    assert seen == ["dev", "keep"]


@pytest.mark.parametrize("medium", ["", "Memory"])
async def test_an_empty_folder_is_open_to_every_user_of_its_pod(stage: Stage, medium: str) -> None:
    mounts = [{"name": "e", "mountPath": "/e"}]
    volumes = [{"name": "e", "emptyDir": {"medium": medium}}]
    script = shell("stat -L -c %a e", volumeMounts=mounts)
    await stage.run("open", script, volumes=volumes, restartPolicy="Never")

    await stage.phase("open", "Succeeded")

    assert await stage.logs("open") == "777\n"


def _restarts(pod: Any) -> int:
    return int(state(pod).restartCount) if pod.status.containerStatuses else 0


async def test_a_folder_of_the_machine_is_linked(stage: Stage, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    host = {"path": str(shared), "type": "DirectoryOrCreate"}
    container = shell("echo here > data/made", volumeMounts=[{"name": "h", "mountPath": "/data"}])
    await stage.run(
        "linked", container, volumes=[{"name": "h", "hostPath": host}], restartPolicy="Never"
    )

    await stage.phase("linked", "Succeeded")
    await stage.delete("linked")

    assert (shared / "made").read_text() == "here\n"
