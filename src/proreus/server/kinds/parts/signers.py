"""Names of signers, and of the trust bundles they publish."""

from __future__ import annotations

from proreus.api import field_error
from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings, NameRule

_DOMAIN_MAX = 253
_SIGNER_MAX = 571  # a domain, a namespace and a name, with a slash and a dot between them


def check_signer(found: Findings, at: str, name: str) -> None:
    """``example.com/signer-name``; each half is printed alone if it alone is wrong."""
    if not found.require(at, name):
        return
    halves = name.split("/")
    if len(halves) != 2:
        found.invalid(
            at,
            name,
            "must be a fully qualified domain and path of the form 'example.com/signer-name'",
        )
        return
    domain, path = halves
    if len(domain) > _DOMAIN_MAX:
        found.append(field_error.too_long(at, _DOMAIN_MAX))
    _check_labels(found, at, domain, names.dns_label)
    if "." not in domain:
        why = "should be a domain with at least two segments separated by dots"
        found.invalid(at, domain, why)
    _check_labels(found, at, path, names.dns_subdomain)
    if len(name) > _SIGNER_MAX:
        found.append(field_error.too_long(at, _SIGNER_MAX))


def _check_labels(found: Findings, at: str, text: str, rule: NameRule) -> None:
    for label in text.split("."):
        problems = rule(label)
        for why in problems:
            found.invalid(at, text, f'validating label "{label}": {why}')
        if problems:
            return


def longest_certificate_s(signer: str) -> int:
    """How long a pod may ask for: Kubernetes' own signers give a day at most."""
    is_kubernetes = f".{signer.partition('/')[0]}".endswith(".kubernetes.io")
    return 86400 if is_kubernetes else 91 * 86400


def bundle_name(name: str, signer: str) -> list[str]:
    """What is wrong with the name of a bundle; ``signer`` is empty if it belongs to none."""
    if not signer:
        if ":" in name:
            return ['ClusterTrustBundle without signer name must not have ":" in its name']
        return names.dns_subdomain(name)
    prefix = signer.replace("/", ":") + ":"
    if not name.startswith(prefix):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"]
    return names.dns_subdomain(name.removeprefix(prefix))


def signer_in_name(name: str) -> str:
    """The signer in the name of a bundle; empty if there is none."""
    return name.rpartition(":")[0].replace(":", "/")
