"""Files that hold secrets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proreus.net.private_files import NotPrivate, read_private, write_private
from proreus.net.tls import certificates
from proreus.server.credentials import AdminCredentials, admin_token, write_kubeconfig


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder in which anybody may put files."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


@pytest.fixture
def permissive() -> object:
    """Files are made with all the rights that their maker asked for."""
    before = os.umask(0)
    yield None
    os.umask(before)


def prepared(path: Path) -> Path:
    path.touch()
    path.chmod(0o666)
    return path


@pytest.mark.usefixtures("permissive")
def test_a_secret_goes_into_no_file_that_was_there_before(shared: Path) -> None:
    guessed = [prepared(shared / f".secret{end}") for end in (".new", "", ".tmp")]
    target = prepared(shared / "secret")
    held_open = target.open("rb")

    write_private(target, b"the token")

    with held_open:
        assert held_open.read() == b""
    assert [file.read_bytes() for file in guessed] == [b""] * 3
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"the token", 0o600)


def test_a_link_at_the_target_is_replaced_and_what_it_leads_to_stays(shared: Path) -> None:
    precious = shared / "precious"
    precious.write_bytes(b"mine")
    (shared / "secret").symlink_to(precious)
    (shared / "dangling").symlink_to(shared / "nowhere")

    write_private(shared / "secret", b"the token")
    write_private(shared / "dangling", b"the token")

    assert precious.read_bytes() == b"mine"
    assert not (shared / "nowhere").exists()
    assert not (shared / "secret").is_symlink()
    assert not (shared / "dangling").is_symlink()


def test_a_write_that_fails_leaves_nothing_behind(shared: Path) -> None:
    (shared / "secret").mkdir()

    with pytest.raises(IsADirectoryError):
        write_private(shared / "secret", b"the token")

    assert [entry.name for entry in shared.iterdir()] == ["secret"]


def test_the_kubeconfig_and_the_token_are_written_so(shared: Path) -> None:
    links = {"admin.token": shared / "a", "config": shared / "b"}
    for name, target in links.items():
        (shared / name).symlink_to(target)

    token = admin_token(shared)
    write_kubeconfig(shared / "config", "https://localhost", None, AdminCredentials(token).login())

    assert not any(target.exists() for target in links.values())
    assert {(shared / name).stat().st_mode & 0o777 for name in links} == {0o600}
    assert admin_token(shared) == token


def test_a_token_that_others_may_have_written_is_refused(shared: Path) -> None:
    prepared(shared / "admin.token").write_text("known to strangers\n")

    with pytest.raises(NotPrivate, match="can be written by other users"):
        admin_token(shared)


def test_a_key_that_others_may_have_written_is_refused(shared: Path) -> None:
    now = 1_800_000_000.0
    files = certificates.ensure_files(shared, ("localhost",), admin="admin", groups=(), now=now)
    files.authority.key.chmod(0o660)

    with pytest.raises(NotPrivate, match=r"ca\.key can be written by other users"):
        certificates.ensure_files(shared, ("localhost",), admin="admin", groups=(), now=now)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_secret_of_another_user_is_refused(shared: Path) -> None:
    write_private(shared / "secret", b"x")
    os.chown(shared / "secret", 12345, -1)

    with pytest.raises(NotPrivate, match="belongs to another user"):
        read_private(shared / "secret")


def test_what_is_no_file_is_no_secret(shared: Path) -> None:
    with pytest.raises(NotPrivate, match="not a regular file"):
        read_private(Path(os.devnull))


def test_a_fifo_in_place_of_a_secret_or_a_certificate_holds_nobody_up(shared: Path) -> None:
    for name in ("token", "kubelet.crt", "kubelet.key"):
        os.mkfifo(shared / name)

    pair = certificates.ensure_self_signed(shared, "kubelet", ["127.0.0.1"], now=1.8e9)

    assert pair.certificate.is_file()
    assert pair.key.is_file()
    with pytest.raises(NotPrivate, match="not a regular file"):
        read_private(shared / "token")
