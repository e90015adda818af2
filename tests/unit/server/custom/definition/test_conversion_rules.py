"""What the conversion stanza of a definition must say, in Kubernetes' words."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.custom.definition.conversion_rules import conversion_violations, may_keep_bundle

_AT = "spec.conversion.webhookClientConfig"
_FORM = "; desired format: https://host[/path]"
_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
SERVICE = {"name": "a", "namespace": "b"}


def by_webhook(client: Any, versions: Any = ("v1",)) -> dict[str, Any]:
    webhook = {"clientConfig": client, "conversionReviewVersions": list(versions)}
    return {"strategy": "Webhook", "webhook": webhook}


def at_url(url: str) -> dict[str, Any]:
    return by_webhook({"url": url})


def at_service(**more: Any) -> dict[str, Any]:
    return by_webhook({"service": {**SERVICE, **more}})


@pytest.mark.parametrize(
    "given",
    [
        {"strategy": "None"},
        at_url("https://example.com/convert"),
        at_url("https://10.0.0.1:9443"),
        at_service(),
        at_service(port=8443, path="/convert/all/"),
        at_service(path="/"),
        by_webhook({"url": "https://a"}, ["v3", "v1beta1"]),
    ],
)
def test_a_good_stanza_is_taken(given: dict[str, Any]) -> None:
    assert conversion_violations(given) == []


BAD: list[tuple[dict[str, Any], list[str]]] = [
    (
        {"strategy": "Magic"},
        ['spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", '
         '"Webhook"'],
    ),
    (
        {"strategy": "None", "webhook": {"clientConfig": {}, "conversionReviewVersions": ["v1"]}},
        [f"{_AT}: Forbidden: should not be set when strategy is not set to Webhook",
         "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is "
         "not set to Webhook"],
    ),
    (
        {"strategy": "Webhook"},
        [f"{_AT}: Required value: required when strategy is set to Webhook",
         "spec.conversion.conversionReviewVersions: Required value"],
    ),
    (
        by_webhook({"url": "https://a", "service": SERVICE}),
        [f"{_AT}: Required value: exactly one of url or service is required"],
    ),
    (
        at_url("http://example.com"),
        [f"{_AT}.url: Invalid value: \"http\": 'https' is the only allowed URL scheme{_FORM}"],
    ),
    (
        at_url("https:///path"),
        [f'{_AT}.url: Invalid value: "": host must be specified{_FORM}'],
    ),
    (
        at_url("https://me:pw@example.com/x?a=b#c"),
        [f'{_AT}.url: Invalid value: "me:pw": user information is not permitted in the URL',
         f'{_AT}.url: Invalid value: "c": fragments are not permitted in the URL',
         f'{_AT}.url: Invalid value: "a=b": query parameters are not permitted in the URL'],
    ),
    (
        by_webhook({"service": {"port": 0}}),
        [f"{_AT}.service.name: Required value: service name is required",
         f"{_AT}.service.namespace: Required value: service namespace is required",
         f"{_AT}.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, "
         "inclusive"],
    ),
    (
        at_service(path="//"),
        [f'{_AT}.service.path: Invalid value: "//": segment[0] may not be empty'],
    ),
    (
        at_service(path="/a//b"),
        [f'{_AT}.service.path: Invalid value: "/a//b": segment[1] may not be empty'],
    ),
    (
        at_service(path="/A"),
        [f'{_AT}.service.path: Invalid value: "/A": segment[0]: {_SUBDOMAIN}'],
    ),
    (
        by_webhook({"url": "https://a"}, ["v3", "v3"]),
        ['spec.conversion.conversionReviewVersions[1]: Invalid value: "v3": duplicate version',
         'spec.conversion.conversionReviewVersions: Invalid value: ["v3","v3"]: must include at '
         "least one of v1, v1beta1"],
    ),
    (
        by_webhook({"url": "https://a", "caBundle": "bm8gcGVt"}),
        [f'{_AT}.caBundle: Invalid value: "bm8gcGVt": unable to load root certificates: unable '
         "to parse bytes as PEM block"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("given", "messages"), BAD)
def test_a_bad_one_is_refused(given: dict[str, Any], messages: list[str]) -> None:
    assert [str(error) for error in conversion_violations(given)] == messages


def test_a_bundle_without_certificates_is_taken_until_somebody_uses_it() -> None:
    bundle = by_webhook({"url": "https://a", "caBundle": "bm8gcGVt"})
    made: dict[str, Any] = {"spec": {"conversion": bundle}, "status": {"conditions": []}}
    established = {"conditions": [{"type": "Established", "status": "True"}]}
    fine = {"spec": {"conversion": at_url("https://a")}, "status": established}

    assert conversion_violations(bundle, takes_any_bundle=True) == []
    assert may_keep_bundle(made)
    assert may_keep_bundle({**made, "status": established})  # it was so before
    assert not may_keep_bundle(fine)
