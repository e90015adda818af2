"""The objects of the service ``kubernetes``: what they say, and what is mended of them."""

from __future__ import annotations

import pytest

from proreus.server.membership import endpoints
from proreus.server.membership.advertised_address import advertised_address
from proreus.server.membership.identity_lease import identity_lease, is_expired, server_id


def test_all_servers_are_in_one_subset_and_one_slice() -> None:
    both = ["192.0.2.1", "192.0.2.2"]

    found, sliced = endpoints.endpoints(both, 6443), endpoints.endpoint_slice(both, 6443)

    (subset,) = found["subsets"]
    assert [one["ip"] for one in subset["addresses"]] == both
    assert [one["addresses"] for one in sliced["endpoints"]] == [["192.0.2.1"], ["192.0.2.2"]]
    assert sliced["addressType"] == "IPv4"


def test_without_an_address_there_are_no_subsets() -> None:
    assert "subsets" not in endpoints.endpoints((), 6443)
    assert endpoints.endpoint_slice((), 6443)["endpoints"] == []


def test_what_is_as_it_should_be_is_not_written() -> None:
    for wanted in (endpoints.endpoints(["192.0.2.1"], 1), endpoints.endpoint_slice([], 1)):
        stored = {**wanted, "metadata": {**wanted["metadata"], "uid": "x"}}
        assert endpoints.mended(stored, wanted) is None


def test_addresses_are_replaced_and_what_others_added_stays() -> None:
    stored = endpoints.endpoints(["192.0.2.9"], 1)
    stored["metadata"] = {**stored["metadata"], "annotations": {"own": "1"}, "labels": {"own": "1"}}
    wanted = endpoints.endpoints(["192.0.2.1"], 1)

    mended = endpoints.mended(stored, wanted)

    assert mended is not None
    assert mended["subsets"] == wanted["subsets"]
    assert mended["metadata"]["annotations"] == {"own": "1"}
    assert mended["metadata"]["labels"] == {"own": "1", **wanted["metadata"]["labels"]}


def test_a_server_that_is_not_among_the_addresses_leaves_their_port_alone() -> None:
    both, one = ["192.0.2.1", "192.0.2.2"], ["192.0.2.1"]
    for make in (endpoints.endpoints, endpoints.endpoint_slice):
        mended = endpoints.mended_by_another(make(both, 6443), make(one, 7000))

        assert mended == make(one, 6443)
        assert endpoints.mended_by_another(make(one, 6443), make(one, 7000)) is None
        assert endpoints.mended_by_another(make([], 6443), make([], 7000)) is None


@pytest.mark.parametrize(
    ("chosen", "bound", "expected"),
    [
        ("192.0.2.5", "127.0.0.1", "192.0.2.5"),
        ("", "192.0.2.7", "192.0.2.7"),
        ("", "127.0.0.1", ""),
        ("", "127.8.8.8", ""),
        ("", "::1", ""),
        ("", "localhost", ""),
    ],
)
def test_loopback_is_no_address_for_others(chosen: str, bound: str, expected: str) -> None:
    assert advertised_address(chosen, bound) == expected


def test_a_server_that_is_bound_to_everything_has_one_of_its_machine_or_none() -> None:
    found = advertised_address("", "0.0.0.0")

    assert found not in ("0.0.0.0", "127.0.0.1")


def test_a_server_has_one_name_and_others_of_its_machine_have_others() -> None:
    one = server_id("host", "192.0.2.1:6443")

    assert one == server_id("host", "192.0.2.1:6443")
    assert one != server_id("host", "192.0.2.1:6444")
    assert one != server_id("other", "192.0.2.1:6443")
    assert len(one) == len("apiserver-") + 26


def test_a_lease_lasts_an_hour_after_it_was_renewed() -> None:
    lease = identity_lease("n", "host", "", "n_1", renewed=1_000_000.25)

    assert not is_expired(lease, 1_003_600.0)
    assert is_expired(lease, 1_003_601.0)
    assert is_expired({"spec": {}}, 0.0), "one that does not say until when never held"
