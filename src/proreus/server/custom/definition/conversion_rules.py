"""Validation of ``spec.conversion`` of a definition, in Kubernetes' words.

Kubernetes validates its internal form of a definition, where ``webhook`` is two fields: paths in
messages are that form's.
"""

from __future__ import annotations

import base64
import binascii
import ssl
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json
from proreus.api.values import names
from proreus.server.custom.conversion.review import KNOWN_VERSIONS
from proreus.server.custom.definition import conditions
from proreus.server.kinds.parts.webhook_urls import webhook_service_errors, webhook_url_errors

_AT = "spec.conversion"
_CLIENT = f"{_AT}.webhookClientConfig"
_REVIEWS = f"{_AT}.conversionReviewVersions"
_STRATEGIES = ("None", "Webhook")
_NOT_SET = "should not be set when strategy is not set to Webhook"


def conversion_violations(given: Json, *, takes_any_bundle: bool = False) -> list[FieldError]:
    strategy = given.get("strategy") or ""
    webhook: Json = given.get("webhook") or {}
    config, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions")
    found: list[FieldError] = []
    if not strategy:
        found.append(field_error.required(f"{_AT}.strategy"))
    elif strategy not in _STRATEGIES:
        found.append(field_error.not_supported(f"{_AT}.strategy", strategy, _STRATEGIES))
    if strategy == "Webhook":
        found += _client_violations(config, takes_any_bundle=takes_any_bundle)
        return found + _review_violations(reviews or [])
    if config is not None:
        found.append(field_error.forbidden(_CLIENT, _NOT_SET))
    if reviews:
        found.append(field_error.forbidden(_REVIEWS, _NOT_SET))
    return found


def may_keep_bundle(definition: Json) -> bool:
    """Whether a bundle without certificates is taken: it is not in use yet, or it was so before."""
    if not conditions.is_true(definition, conditions.ESTABLISHED):
        return True
    return not has_good_bundle(definition["spec"].get("conversion") or {})


def has_good_bundle(given: Json) -> bool:
    """Whether the certificates for the webhook, if there are any, can be read."""
    config = (given.get("webhook") or {}).get("clientConfig") or {}
    bundle = config.get("caBundle")
    return not bundle or _has_certificates(bundle)


def _client_violations(config: Json | None, *, takes_any_bundle: bool) -> list[FieldError]:
    if config is None:
        return [field_error.required(_CLIENT, "required when strategy is set to Webhook")]
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [field_error.required(_CLIENT, "exactly one of url or service is required")]
    found = (
        webhook_url_errors(f"{_CLIENT}.url", str(url))
        if service is None
        else webhook_service_errors(f"{_CLIENT}.service", service)
    )
    bundle = config.get("caBundle")
    if bundle and not takes_any_bundle and not _has_certificates(bundle):
        text = "unable to load root certificates: unable to parse bytes as PEM block"
        found.append(field_error.invalid(f"{_CLIENT}.caBundle", bundle, text))
    return found


def _review_violations(versions: list[Any]) -> list[FieldError]:
    if not versions:
        return [field_error.required(_REVIEWS)]
    found: list[FieldError] = []
    for index, version in enumerate(versions):
        at = f"{_REVIEWS}[{index}]"
        if version in versions[:index]:
            found.append(field_error.invalid(at, version, "duplicate version"))
            continue
        found += [field_error.invalid(at, version, why) for why in names.dns_1035_label(version)]
    if not any(version in KNOWN_VERSIONS for version in versions):
        text = f"must include at least one of {', '.join(KNOWN_VERSIONS)}"
        found.append(field_error.invalid(_REVIEWS, versions, text))
    return found


def _has_certificates(bundle: Any) -> bool:
    try:
        text = base64.b64decode(bundle, validate=True).decode("ascii")
        ssl.create_default_context(cadata=text)
    except (binascii.Error, UnicodeDecodeError, ssl.SSLError, ValueError):
        return False
    return True
