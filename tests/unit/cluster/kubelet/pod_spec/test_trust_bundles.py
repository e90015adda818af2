"""What a volume shows of cluster trust bundles."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.cluster.kubelet.runtimes.pod_spec.references import (
    ALL_BUNDLES,
    ConfigProblem,
    Objects,
    Reference,
    references_of,
)
from proreus.cluster.kubelet.runtimes.pod_spec.trust_bundles import trust_anchors
from tests.unit.cluster.kubelet.pods import pod_spec

SIGNER, OTHER = "example.com/a", "example.com/b"


def pem(*bodies: str) -> str:
    parts = (f"-----BEGIN CERTIFICATE-----\n{b}\n-----END CERTIFICATE-----\n" for b in bodies)
    return "".join(parts)


def bundle(name: str, text: str, signer: str = "", **labels: str) -> tuple[Reference, KubeObject]:
    spec = {"trustBundle": text, **({"signerName": signer} if signer else {})}
    content = {"metadata": {"name": name, "labels": labels}, "spec": spec}
    return Reference("clustertrustbundle", name), KubeObject.from_dict(content)


STORED: Objects = dict(
    [
        bundle("plain", pem("AAAA", "BBBB")),
        bundle("example.com:a:2", pem("BBBB", "CCCC"), SIGNER, tier="live"),
        bundle("example.com:a:1", pem("AAAA", "BBBB"), SIGNER, tier="test"),
        bundle("example.com:b:1", pem("DDDD"), OTHER, tier="live"),
    ]
)


@pytest.mark.parametrize(
    ("chosen", "bodies"),
    [
        ({"name": "plain"}, ["AAAA", "BBBB"]),
        ({"signerName": SIGNER, "labelSelector": {}}, ["AAAA", "BBBB", "CCCC"]),
        ({"signerName": OTHER, "labelSelector": {}}, ["DDDD"]),
        (
            {"signerName": SIGNER, "labelSelector": {"matchLabels": {"tier": "live"}}},
            ["BBBB", "CCCC"],
        ),
        (
            {
                "signerName": SIGNER,
                "labelSelector": {
                    "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["live"]}]
                },
            },
            ["AAAA", "BBBB"],
        ),
    ],
)
def test_it_is_each_certificate_of_the_chosen_bundles_once(
    chosen: dict[str, Any], bodies: list[str]
) -> None:
    assert trust_anchors(chosen, STORED).decode() == pem(*bodies)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"name": "gone"}, 'clustertrustbundle.certificates.k8s.io "gone" not found'),
        (
            {"signerName": SIGNER},
            "combination of signerName and labelSelector matched zero ClusterTrustBundles",
        ),
        (
            {"signerName": SIGNER, "labelSelector": {"matchLabels": {"tier": "none"}}},
            "combination of signerName and labelSelector matched zero ClusterTrustBundles",
        ),
        (
            {"signerName": "example.com/c", "labelSelector": {}},
            "combination of signerName and labelSelector matched zero ClusterTrustBundles",
        ),
    ],
)
def test_bundles_that_are_not_there_are_said_or_an_empty_file(
    chosen: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigProblem, match=said):
        trust_anchors(chosen, STORED)

    assert trust_anchors({**chosen, "optional": True}, STORED) == b""


def test_certificates_are_written_in_lines_of_one_length_however_they_were_stored() -> None:
    body = "QUJD" * 40
    broken = "\n".join(body[at : at + 7] for at in range(0, len(body), 7))
    stored = dict([bundle("x", pem(broken) + "text between\n" + pem(body))])

    lines = trust_anchors({"name": "x"}, stored).decode().splitlines()

    assert [len(line) for line in lines[1:-1]] == [64, 64, 32]


def test_a_pod_with_a_hundred_bundles_needs_one_watch() -> None:
    sources = [{"clusterTrustBundle": {"name": f"b{n}", "path": f"{n}"}} for n in range(100)]

    pod = pod_spec({}, volumes=[{"name": "v", "projected": {"sources": sources}}])

    assert references_of(pod) == {ALL_BUNDLES}
