"""Volumes are files: what they hold, and how they change under a reader's eyes."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.cluster.kubelet.runtimes.pod_spec.references import ConfigProblem
from proreus.cluster.kubelet.runtimes.pod_spec.token_requests import TokenRequest
from proreus.cluster.kubelet.runtimes.pod_spec.volumes import (
    Contents,
    Empty,
    Files,
    HostPath,
    VolumeContent,
    VolumeFile,
    volume_content,
)
from proreus.cluster.kubelet.runtimes.process.atomic_writer import publish
from proreus.cluster.kubelet.runtimes.process.folders import (
    PodFolder,
    create_root,
    working_folder,
    write_volume,
)
from tests.unit.cluster.kubelet.pods import pod_spec, value_sources


def content(volume: dict[str, Any]) -> VolumeContent:
    sources = value_sources(
        configmaps={"m": {"data": {"a": "1", "b": "2"}, "binaryData": {"c": "/w=="}}},
        secrets={"s": {"data": {"key": base64.b64encode(b"x").decode()}}},
    )
    tokens = {TokenRequest("api", 600): b"token"}
    return volume_content(pod_spec({}), {"name": "v", **volume}, Contents(sources, tokens))


def test_config_maps_and_secrets_are_files_with_modes() -> None:
    assert content({"configMap": {"name": "m"}}) == Files(
        {
            "a": VolumeFile(b"1", 0o644),
            "b": VolumeFile(b"2", 0o644),
            "c": VolumeFile(b"\xff", 0o644),
        }
    )
    items = [{"key": "key", "path": "deep/name", "mode": 0o400}]
    secret = {"secretName": "s", "defaultMode": 0o600, "items": items}
    assert content({"secret": secret}) == Files({"deep/name": VolumeFile(b"x", 0o400)})
    assert content({"configMap": {"name": "no", "optional": True}}) == Files({})


def test_the_downward_api_and_projections_are_files_too() -> None:
    sources = [
        {"configMap": {"name": "m", "items": [{"key": "a", "path": "conf/a"}]}},
        {"secret": {"name": "s"}},
        {
            "downwardAPI": {
                "items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
            }
        },
        {"serviceAccountToken": {"audience": "api", "expirationSeconds": 600, "path": "token"}},
    ]

    assert content({"projected": {"sources": sources, "defaultMode": 0o640}}) == Files(
        {
            "conf/a": VolumeFile(b"1", 0o640),
            "key": VolumeFile(b"x", 0o640),
            "labels": VolumeFile(b'app="web"\ntier="a \\"b\\""', 0o640),
            "token": VolumeFile(b"token", 0o600),
        }
    )


def test_folders_of_the_pod_and_of_the_machine() -> None:
    assert content({"emptyDir": {}}) == Empty()
    assert content({"hostPath": {"path": "/srv", "type": "Directory"}}) == HostPath(
        "/srv", "Directory"
    )


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ({"configMap": {"name": "no"}}, 'configmap "no" not found'),
        (
            {"secret": {"secretName": "s", "items": [{"key": "q", "path": "q"}]}},
            "references non-existent key: q",
        ),
        (
            {"nfs": {"server": "s", "path": "/"}},
            "the process runtime has no volumes of this kind: nfs",
        ),
        (
            {"configMap": {"name": "m", "items": [{"key": "a", "path": "../out"}]}},
            "a file's path must stay inside its volume: ../out",
        ),
    ],
)
def test_what_cannot_be_made_is_said(volume: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigProblem) as problem:
        content(volume)

    assert str(problem.value) == message


def files_in(folder: Path) -> dict[str, bytes]:
    """As a program sees them: hidden names are not its business."""
    visible = [entry for entry in folder.iterdir() if not entry.name.startswith("..")]
    found: dict[str, bytes] = {}
    for entry in visible:
        for path in [entry, *entry.rglob("*")]:
            if path.is_file():
                found[str(path.relative_to(folder))] = path.read_bytes()
    return found


names = st.sampled_from(["a", "b", "deep/c", "deep/d", "other/e"])
file_sets = st.dictionaries(names, st.binary(max_size=4), max_size=4)


@settings(max_examples=40, deadline=None)
@given(st.lists(file_sets, min_size=1, max_size=5))
def test_a_folder_always_shows_the_last_set_of_files(
    tmp_path_factory: pytest.TempPathFactory, sets: list[dict[str, bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("volume") / "v"
    for wanted in sets:
        files = {path: VolumeFile(text, 0o640) for path, text in wanted.items()}

        publish(folder, files)

        assert files_in(folder) == wanted
        assert not publish(folder, files)
    assert len([e for e in folder.iterdir() if e.name.startswith("..")]) == 2  # ..data, its folder


def test_an_update_is_one_rename_and_modes_hold(tmp_path: Path) -> None:
    publish(tmp_path / "v", {"a": VolumeFile(b"1", 0o400), "b": VolumeFile(b"1", 0o600)})
    inside = (tmp_path / "v/..data").resolve()

    assert publish(tmp_path / "v", {"a": VolumeFile(b"2", 0o400)})

    assert (tmp_path / "v/..data").resolve() != inside
    assert not inside.exists()
    assert (tmp_path / "v/a").stat().st_mode & 0o777 == 0o400
    assert not (tmp_path / "v/b").is_symlink()


def test_mounts_are_links_below_the_root(tmp_path: Path) -> None:
    mounts = [
        {"name": "inner", "mountPath": "/srv/www/extra"},
        {"name": "outer", "mountPath": "/srv/www"},
        {"name": "conf", "mountPath": "/etc/app.conf", "subPath": "a"},
        {"name": "outer", "mountPath": "/logs", "subPathExpr": "of-$(POD)"},
    ]
    pod = pod_spec({"volumeMounts": mounts, "workingDir": "/srv/www"})
    folder, (container,) = PodFolder(tmp_path / "pod"), pod.containers
    write_volume(folder, "outer", Empty())
    write_volume(folder, "inner", Empty())
    write_volume(folder, "conf", Files({"a": VolumeFile(b"1", 0o644)}))

    for _ in range(2):  # a restart begins with a fresh root
        create_root(folder, container, {"POD": "web"})
        home = folder.container("c1")
        (home.root / "srv/www/index").write_text("x")
        (home.root / "scratch").write_text("x")

    assert (folder.volume("outer") / "index").read_text() == "x"
    assert (home.root / "srv/www/extra").resolve() == folder.volume("inner")
    assert (home.root / "etc/app.conf").read_bytes() == b"1"
    assert (home.root / "logs").resolve() == folder.volume("outer") / "of-web"
    assert working_folder(home, container).resolve() == folder.volume("outer")
    assert home.termination_log(container) == home.root / "dev/termination-log"
    create_root(folder, container, {"POD": "web"})
    assert not (home.root / "scratch").exists()


@pytest.mark.parametrize("wanted", ["", "made/here", "/made/too", "/usr"])
def test_a_working_folder_is_found_or_made(tmp_path: Path, wanted: str) -> None:
    (container,) = pod_spec({"workingDir": wanted}).containers
    folder = PodFolder(tmp_path)
    create_root(folder, container, {})

    found = working_folder(folder.container("c1"), container)

    root = folder.container("c1").root
    assert found == (Path("/usr") if wanted == "/usr" else root / wanted.lstrip("/"))
    assert found.is_dir()


def test_a_mount_may_not_climb_out(tmp_path: Path) -> None:
    (container,) = pod_spec({"volumeMounts": [{"name": "v", "mountPath": "/../x"}]}).containers

    with pytest.raises(ConfigProblem):
        create_root(PodFolder(tmp_path), container, {})


@pytest.mark.parametrize("below", ["/etc", "../other", "link", "link/deeper"])
def test_a_part_of_a_volume_may_not_lead_out_of_it(tmp_path: Path, below: str) -> None:
    mount = {"name": "v", "mountPath": "/x", "subPathExpr": below}
    (container,) = pod_spec({"volumeMounts": [mount]}).containers
    folder = PodFolder(tmp_path / "pod")
    write_volume(folder, "v", Empty())
    (folder.volume("v") / "link").symlink_to("/etc")  # as a container would

    with pytest.raises(ConfigProblem):
        create_root(folder, container, {})

    assert not (folder.container("c1").root / "x").exists()


def test_a_path_of_the_machine_is_checked_and_linked(tmp_path: Path) -> None:
    folder, there = PodFolder(tmp_path / "pod"), tmp_path / "there"

    with pytest.raises(ConfigProblem, match="is not a directory"):
        write_volume(folder, "v", HostPath(str(there), "Directory"))
    write_volume(folder, "v", HostPath(str(there), "DirectoryOrCreate"))

    assert folder.volume("v").resolve() == there
