"""The parts of the etcd client that need no etcd: messages, versions, settings, leases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from proreus.server.storage.etcd import EtcdConfig, EtcdStorage, messages
from proreus.server.storage.etcd.config import place
from proreus.server.storage.etcd.leases import EtcdLeases
from proreus.server.storage.etcd.version import is_progress_safe, streams_ranges
from proreus.server.storage.interface import AccessDenied, InvalidKey
from proreus.testing.virtual_clock import VirtualClock


def test_messages_have_etcds_bytes() -> None:
    request = messages.TxnRequest()
    compare = request.compare.add()
    compare.target, compare.key, compare.mod_revision = messages.COMPARE_MOD, b"k", 5
    request.success.add().request_put.value = b"v"

    assert request.SerializeToString() == (
        b"\x0a\x07\x10\x02\x1a\x01k\x30\x05"  # compare: target MOD, key, mod_revision
        b"\x12\x05\x12\x03\x12\x01v"  # success: request_put: value
    )


def test_fields_of_a_newer_etcd_are_skipped() -> None:
    answer = messages.RangeResponse.FromString(b"\x20\x07\xf8\x07\x01")

    assert answer.count == 7


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("3.4.30", False),
        ("3.4.31", True),
        ("3.5.1", False),
        ("3.5.12", False),
        ("3.5.13", True),
        ("3.6.0", True),
        ("3.6.0-rc.1", True),
        ("4.0.0", True),
        ("3.3.27", False),
        ("unknown", False),
    ],
)
def test_progress_answers_are_trusted_by_version(version: str, expected: bool) -> None:
    assert is_progress_safe(version) is expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [("3.5.13", False), ("3.6.9", False), ("3.7.0", True), ("4.0.0", True), ("unknown", False)],
)
def test_ranges_are_streamed_by_version(version: str, expected: bool) -> None:
    assert streams_ranges(version) is expected


def test_endpoints_are_urls() -> None:
    config = EtcdConfig(("http://a:2379", "http://[::1]:2380"))

    assert [place(url) for url in config.endpoints] == [("a", 2379), ("::1", 2380)]
    assert place("https://etcd.example.com") == ("etcd.example.com", 2379)
    assert repr(config) == "<EtcdConfig http://a:2379,http://[::1]:2380>"


def test_a_config_never_shows_its_password() -> None:
    config = EtcdConfig(("http://a",), username="root", password="secret")

    assert repr(config) == "<EtcdConfig http://a as root>"


@pytest.mark.parametrize(
    "urls",
    [(), ("a:2379",), ("http://a", "https://b"), ("unix:///run/etcd",), ("http://",)],
)
def test_wrong_endpoints_are_refused(urls: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="etcd"):
        EtcdConfig(urls)


def test_a_root_outside_the_key_space_is_refused() -> None:
    with pytest.raises(InvalidKey):
        EtcdConfig(("http://a",), root="registry")


async def test_files_that_are_no_certificates_are_named(tmp_path: Path) -> None:
    certificate, key = tmp_path / "client.pem", tmp_path / "client-key.pem"
    for file in (certificate, key):
        file.write_text("nothing of the kind")
    config = EtcdConfig(("https://a",), None, certificate, key)

    with pytest.raises(AccessDenied, match=r"client\.pem, .*client-key\.pem"):
        async with EtcdStorage.open(config, VirtualClock()):
            pass


class Grants:
    def __init__(self) -> None:
        self.seconds: list[int] = []

    async def __call__(self, seconds: int) -> int:
        self.seconds.append(seconds)
        return len(self.seconds)


async def test_keys_of_similar_lives_share_a_lease() -> None:
    clock, grants = VirtualClock(), Grants()
    leases = EtcdLeases(clock, grants)

    first = [await leases.lease_for(3600) for _ in range(5)]
    await clock.advance(59)
    same = await leases.lease_for(3600)
    await clock.advance(2)
    later = await leases.lease_for(3600)

    assert (set(first), same, later) == ({1}, 1, 2)
    assert grants.seconds == [3660, 3660]


async def test_the_slack_of_a_short_life_is_a_twentieth() -> None:
    grants = Grants()

    await EtcdLeases(VirtualClock(), grants).lease_for(100)

    assert grants.seconds == [105]


async def test_a_lease_holds_a_thousand_keys() -> None:
    grants = Grants()
    leases = EtcdLeases(VirtualClock(), grants)

    numbers = [await leases.lease_for(3600) for _ in range(2_001)]

    assert [numbers.count(number) for number in (1, 2, 3)] == [1_000, 1_000, 1]


def test_without_protobuf_everything_else_works_and_etcd_says_what_it_needs() -> None:
    script = (
        "import sys\n"
        "sys.modules['google.protobuf'] = None\n"
        "import proreus.server.storage.sqlite, proreus.server.storage.resource_stores\n"
        "try:\n"
        "    import proreus.server.storage.etcd\n"
        "except ImportError as missing:\n"
        "    print(missing)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)

    assert b"pip install 'proreus[etcd]'" in done.stdout
