"""Which authorizers there are: from the flags, or from an AuthorizationConfiguration file.

Faults of the file are reported in the words of Kubernetes' validation. The kubeconfigs that it
names are read with it; like kube-apiserver's, they are not followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.values.duration import format_duration, parse_duration
from proreus.api.values.names import dns_subdomain
from proreus.lazy_dataclass import dataclass
from proreus.server.authz.authorizer import Decision
from proreus.server.authz.webhook.authorizer import WebhookSettings
from proreus.server.authz.webhook.review import V1, VERSIONS
from proreus.server.config_files.fields import ConfigFields, ConfigFileInvalid, decode_config
from proreus.server.webhooks.kubeconfig import (
    KubeconfigInvalid,
    WebhookAddress,
    read_webhook_kubeconfig,
)

if TYPE_CHECKING:
    from proreus.server.authz.webhook.match_conditions import MatchConditions

ALWAYS_ALLOW, ALWAYS_DENY, NODE, RBAC = "AlwaysAllow", "AlwaysDeny", "Node", "RBAC"
WEBHOOK = "Webhook"
MODES = (ALWAYS_ALLOW, ALWAYS_DENY, NODE, RBAC, WEBHOOK)
_API_VERSIONS = frozenset(f"apiserver.config.k8s.io/{v}" for v in ("v1", "v1beta1", "v1alpha1"))
_KIND = "AuthorizationConfiguration"
_TIMEOUT_MAX_S = 30.0
_CONDITIONS_MAX = 64
_AUTHORIZER_FIELDS = frozenset({"type", "name", "webhook"})
_WEBHOOK_FIELDS = frozenset(
    {"authorizedTTL", "cacheAuthorizedRequests", "unauthorizedTTL", "cacheUnauthorizedRequests"}
    | {"timeout", "subjectAccessReviewVersion", "matchConditionSubjectAccessReviewVersion"}
    | {"failurePolicy", "connectionInfo", "matchConditions"}
)
_ON_FAILURE = {"NoOpinion": Decision.NO_OPINION, "Deny": Decision.DENY}
_IN_CLUSTER, _KUBECONFIG = "InClusterConfig", "KubeConfigFile"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookFlags:
    """``--authorization-webhook-*``."""

    config_file: Path
    version: str = V1
    authorized_ttl_s: float = 300.0
    unauthorized_ttl_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationOptions:
    """``modes`` in order, of which Webhook needs ``webhook``; or a ``config_file`` that says
    everything."""

    modes: tuple[str, ...] = ()
    webhook: WebhookFlags | None = None
    config_file: Path | None = None


@dataclass(frozen=True, slots=True)
class AuthorizerSettings:
    """``webhook`` belongs to the type Webhook."""

    type: str
    name: str
    webhook: WebhookSettings | None = None


def settings_of_flags(options: AuthorizationOptions) -> tuple[AuthorizerSettings, ...]:
    """Raises ConfigFileInvalid."""
    return tuple(_setting_of_flags(mode, options.webhook) for mode in options.modes)


def _setting_of_flags(mode: str, flags: WebhookFlags | None) -> AuthorizerSettings:
    if mode != WEBHOOK:
        return AuthorizerSettings(mode, mode.lower())
    assert flags is not None, "the configuration was checked"
    try:
        address = read_webhook_kubeconfig(flags.config_file)
    except KubeconfigInvalid as error:
        raise ConfigFileInvalid(f"authorization {error}") from error
    settings = WebhookSettings(
        address=address,
        version=flags.version,
        authorized_ttl_s=flags.authorized_ttl_s,
        unauthorized_ttl_s=flags.unauthorized_ttl_s,
    )
    return AuthorizerSettings(mode, "default", settings)


def parse_authorization(text: bytes) -> tuple[AuthorizerSettings, ...]:
    """Raises ConfigFileInvalid."""
    fields = decode_config(text, _API_VERSIONS, _KIND, ("authorizers",))
    found: list[AuthorizerSettings] = []
    for each in fields.each("authorizers", _AUTHORIZER_FIELDS):
        _check_authorizer(each, found)
        found.append(_authorizer(each))
    if not found:
        why = "at least one authorization mode must be defined"
        raise ConfigFileInvalid.of(field_error.required("authorizers", why))
    return tuple(found)


def _check_authorizer(fields: ConfigFields, before: Sequence[AuthorizerSettings]) -> None:
    kind, name = fields.string("type"), fields.string("name")
    at, named_at = fields.path("type"), fields.path("name")
    faults: list[FieldError] = []
    if not kind:
        faults.append(field_error.required(at))
    elif kind not in MODES:
        faults.append(field_error.not_supported(at, kind, sorted(MODES)))
    elif kind != WEBHOOK and any(each.type == kind for each in before):
        faults.append(field_error.duplicate(at, kind))
    elif not name:
        faults.append(field_error.required(named_at))
    elif any(each.name == name for each in before):
        faults.append(field_error.duplicate(named_at, name))
    elif why := dns_subdomain(name):
        text = f"authorizer name is invalid: {', '.join(why)}"
        faults.append(field_error.invalid(named_at, name, text))
    elif kind != WEBHOOK and fields.has("webhook"):
        text = "may only be specified when type=Webhook"
        faults.append(field_error.invalid(fields.path("webhook"), "non-null", text))
    if faults:
        raise ConfigFileInvalid.of(*faults)


def _authorizer(fields: ConfigFields) -> AuthorizerSettings:
    kind, name = fields.string("type"), fields.string("name")
    if kind != WEBHOOK:
        return AuthorizerSettings(kind, name)
    webhook = fields.fields("webhook", _WEBHOOK_FIELDS)
    if webhook is None:
        why = "required when type=Webhook"
        raise ConfigFileInvalid.of(field_error.required(fields.path("webhook"), why))
    return AuthorizerSettings(kind, name, _webhook(webhook))


def _webhook(fields: ConfigFields) -> WebhookSettings:
    faults = list(_webhook_faults(fields))
    if faults:
        raise ConfigFileInvalid.of(*faults)
    caches_authorized = fields.flag("cacheAuthorizedRequests") is not False
    caches_unauthorized = fields.flag("cacheUnauthorizedRequests") is not False
    return WebhookSettings(
        address=_address(fields),
        version=fields.string("subjectAccessReviewVersion"),
        timeout_s=_duration_s(fields, "timeout"),
        authorized_ttl_s=_ttl_s(fields, "authorizedTTL", 300.0) if caches_authorized else 0.0,
        unauthorized_ttl_s=_ttl_s(fields, "unauthorizedTTL", 30.0) if caches_unauthorized else 0.0,
        on_failure=_ON_FAILURE[fields.string("failurePolicy")],
        conditions=_conditions(fields),
    )


def _conditions(fields: ConfigFields) -> MatchConditions | None:
    given = list(fields.each("matchConditions", ("expression",)))
    version_at = "matchConditionSubjectAccessReviewVersion"
    version = fields.string(version_at)
    if given and not version:
        why = "required if match conditions are specified"
        raise ConfigFileInvalid.of(field_error.required(fields.path(version_at), why))
    if version not in ("", V1):
        raise ConfigFileInvalid.of(
            field_error.not_supported(fields.path(version_at), version, [V1])
        )
    if len(given) > _CONDITIONS_MAX:
        at = fields.path("matchConditions")
        raise ConfigFileInvalid.of(field_error.too_many(at, len(given), _CONDITIONS_MAX))
    texts: list[str] = []
    for each in given:
        text, at = each.string("expression"), each.path("expression")
        if not text.strip():
            raise ConfigFileInvalid.of(field_error.required(at))
        if text in texts:
            raise ConfigFileInvalid.of(field_error.duplicate(at, text))
        _check_expression(at, text)
        texts.append(text)
    if not texts:
        return None
    from proreus.server.authz.webhook.match_conditions import MatchConditions

    return MatchConditions(texts)


def _check_expression(at: str, text: str) -> None:
    from proreus.server.cel import WITHOUT_CEL
    from proreus.server.cel.checker import is_available

    if not is_available():
        raise ConfigFileInvalid.of(field_error.forbidden(at, WITHOUT_CEL))
    from proreus.server.authz.webhook.match_conditions import MatchConditions
    from proreus.server.cel.admission import ExpressionInvalid

    try:
        MatchConditions([text])
    except ExpressionInvalid as error:
        raise ConfigFileInvalid.of(field_error.invalid(at, text, str(error))) from error


def _webhook_faults(fields: ConfigFields) -> Iterator[FieldError]:
    timeout_s = _duration_s(fields, "timeout")
    if not timeout_s:
        yield field_error.required(fields.path("timeout"))
    elif not 0 < timeout_s <= _TIMEOUT_MAX_S:
        given, why = format_duration(timeout_s), "must be > 0s and <= 30s"
        yield field_error.invalid(fields.path("timeout"), given, why)
    for name in ("authorizedTTL", "unauthorizedTTL"):
        if (ttl_s := _duration_s(fields, name)) < 0:
            yield field_error.invalid(fields.path(name), format_duration(ttl_s), "must be > 0s")
    yield from _choice_faults(fields, "subjectAccessReviewVersion", VERSIONS)
    yield from _choice_faults(fields, "failurePolicy", tuple(_ON_FAILURE))


def _choice_faults(
    fields: ConfigFields, name: str, supported: Sequence[str]
) -> Iterator[FieldError]:
    given = fields.string(name)
    if not given:
        yield field_error.required(fields.path(name))
    elif given not in supported:
        yield field_error.not_supported(fields.path(name), given, supported)


def _address(fields: ConfigFields) -> WebhookAddress:
    info = fields.fields("connectionInfo", ("type", "kubeConfigFile"))
    if info is None or not (kind := info.string("type")):
        raise ConfigFileInvalid.of(field_error.required(fields.path("connectionInfo.type")))
    at, file_at = info.path("type"), info.path("kubeConfigFile")
    if kind == _IN_CLUSTER:
        why = "an API server has no cluster to be configured by"
        raise ConfigFileInvalid.of(field_error.invalid(at, kind, why))
    if kind != _KUBECONFIG:
        known = [_IN_CLUSTER, _KUBECONFIG]
        raise ConfigFileInvalid.of(field_error.not_supported(at, kind, known))
    path = Path(given) if (given := info.string("kubeConfigFile")) else None
    if path is None:
        raise ConfigFileInvalid.of(field_error.required(file_at))
    if not path.is_absolute():
        raise ConfigFileInvalid.of(field_error.invalid(file_at, given, "must be an absolute path"))
    if path.exists() and not path.is_file():
        raise ConfigFileInvalid.of(field_error.invalid(file_at, given, "must be a regular file"))
    try:
        return read_webhook_kubeconfig(path)
    except KubeconfigInvalid as error:
        raise ConfigFileInvalid.of(field_error.invalid(file_at, given, str(error))) from error


def _ttl_s(fields: ConfigFields, name: str, default_s: float) -> float:
    return _duration_s(fields, name) or default_s


def _duration_s(fields: ConfigFields, name: str) -> float:
    given = fields.string(name)
    try:
        return parse_duration(given) if given else 0.0
    except ValueError as error:
        fault = field_error.invalid(fields.path(name), given, str(error))
        raise ConfigFileInvalid.of(fault) from error
