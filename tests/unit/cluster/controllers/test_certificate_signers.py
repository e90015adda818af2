"""What Kubernetes' own signers certify, and in which words they refuse."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.signers import API_CLIENT, KUBELET_CLIENT, KUBELET_SERVING, LEGACY_UNKNOWN
from proreus.cluster.controllers.certificates.signers import fault, lasts_s
from proreus.net.tls.signing_requests import SigningRequest

NODE = SigningRequest(common_name="system:node:n1", organizations=("system:nodes",))
SERVING = SigningRequest(
    common_name="system:node:n1", organizations=("system:nodes",), dns_names=("n1",)
)
CLIENT_USAGES = ("digital signature", "client auth")
SERVER_USAGES = ("digital signature", "server auth")
USAGES = ("digital signature", "key encipherment", "client auth", "server auth", "cert sign")

names = st.sampled_from([(), ("a",)])
requests = st.builds(
    SigningRequest,
    common_name=st.sampled_from(["system:node:n1", "system:node:", "n1", "", "system:nodes"]),
    organizations=st.sampled_from([("system:nodes",), (), ("dev",), ("system:nodes", "dev")]),
    dns_names=names,
    emails=names,
    ip_addresses=names,
    uris=names,
)
usages = st.lists(st.sampled_from(USAGES), unique=True)


def fits_a_kubelets_client(asked: SigningRequest, used: Sequence[str]) -> bool:
    return (
        asked.organizations == ("system:nodes",)
        and asked.common_name.startswith("system:node:")
        and not (asked.dns_names + asked.emails + asked.ip_addresses + asked.uris)
        and {*used, "key encipherment"} == {*CLIENT_USAGES, "key encipherment"}
    )


def fits_a_kubelets_server(asked: SigningRequest, used: Sequence[str]) -> bool:
    return (
        asked.organizations == ("system:nodes",)
        and asked.common_name.startswith("system:node:")
        and bool(asked.dns_names + asked.ip_addresses)
        and not (asked.emails + asked.uris)
        and {*used, "key encipherment"} == {*SERVER_USAGES, "key encipherment"}
    )


@given(requests, usages)
def test_each_signer_takes_what_fits_and_nothing_else(
    asked: SigningRequest, used: list[str]
) -> None:
    for_client = {*used, *CLIENT_USAGES, "key encipherment"} == {
        *CLIENT_USAGES,
        "key encipherment",
    }

    assert (fault(KUBELET_CLIENT, asked, used) == "") == fits_a_kubelets_client(asked, used)
    assert (fault(KUBELET_SERVING, asked, used) == "") == fits_a_kubelets_server(asked, used)
    assert (fault(API_CLIENT, asked, used) == "") == (for_client and "client auth" in used)
    assert fault(LEGACY_UNKNOWN, asked, used) == ""
    assert fault("example.com/any", asked, used) is None


@pytest.mark.parametrize(
    ("signer", "asked", "used", "why"),
    [
        (KUBELET_CLIENT, NODE, ("client auth",),
         "usages did not match [client auth digital signature key encipherment]"),
        (KUBELET_CLIENT, SERVING, CLIENT_USAGES, "DNS subjectAltNames are not allowed"),
        (KUBELET_CLIENT, SigningRequest("system:node:n", ("system:nodes",), emails=("a",)),
         CLIENT_USAGES, "Email subjectAltNames are not allowed"),
        (KUBELET_CLIENT, SigningRequest("system:node:n"), CLIENT_USAGES,
         "subject organization is not system:nodes"),
        (KUBELET_CLIENT, SigningRequest("n", ("system:nodes",)), CLIENT_USAGES,
         "subject common name does not begin with system:node:"),
        (KUBELET_SERVING, NODE, SERVER_USAGES, "DNS or IP subjectAltName is required"),
        (KUBELET_SERVING, SERVING, CLIENT_USAGES,
         "usages did not match [digital signature key encipherment server auth]"),
        (API_CLIENT, NODE, ("server auth",), "invalid usage for client certificate: server auth"),
        (API_CLIENT, NODE, ("digital signature",),
         "missing required usage for client certificate: client auth"),
    ],
)  # fmt: skip
def test_refusals_name_the_first_thing_that_is_wrong(
    signer: str, asked: SigningRequest, used: Sequence[str], why: str
) -> None:
    assert fault(signer, asked, used) == why


@given(st.one_of(st.none(), st.integers(600, 2**31 - 1)), st.floats(600, 1e9))
def test_a_certificate_lasts_no_longer_than_asked_for_and_than_allowed(
    requested_s: int | None, max_s: float
) -> None:
    found = lasts_s(requested_s, max_s)

    assert 600 <= found <= max_s
    assert found == max_s if requested_s is None else found <= max(requested_s, 600)
