"""``--admission-control-config-file``: an AdmissionConfiguration, with a part per plugin."""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import Path

from proreus.api import field_error
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.options import PLUGINS
from proreus.server.admission.pod_security.configuration import (
    PodSecurityConfiguration,
    parse_pod_security,
)
from proreus.server.config_files.fields import ConfigFields, ConfigFileInvalid, decode_config
from proreus.server.webhooks.kubeconfig import KubeconfigInvalid
from proreus.server.webhooks.users import WebhookUsers, read_webhook_users

_API_VERSIONS = frozenset({"apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"})
_WEBHOOK_API_VERSIONS = frozenset({"apiserver.config.k8s.io/v1"})
_PLUGIN_FIELDS = frozenset({"name", "path", "configuration"})


@dataclass(frozen=True, slots=True)
class AdmissionConfiguration:
    """Of webhooks: who the server is to them."""

    pod_security: PodSecurityConfiguration = field(default_factory=PodSecurityConfiguration)
    mutating_webhooks: WebhookUsers = field(default_factory=WebhookUsers)
    validating_webhooks: WebhookUsers = field(default_factory=WebhookUsers)


def read_admission_configuration(path: Path | None) -> AdmissionConfiguration:
    """Raises ConfigFileInvalid."""
    if path is None:
        return AdmissionConfiguration()
    try:
        return _parse(path)
    except (ConfigFileInvalid, KubeconfigInvalid, OSError) as why:
        said = why.strerror or str(why) if isinstance(why, OSError) else str(why)
        raise ConfigFileInvalid(f"admission configuration file {path}: {said}") from why


def _parse(path: Path) -> AdmissionConfiguration:
    found = decode_config(path.read_bytes(), _API_VERSIONS, "AdmissionConfiguration", {"plugins"})
    made = AdmissionConfiguration()
    for plugin in found.each("plugins", _PLUGIN_FIELDS):
        name, at = plugin.string("name"), plugin.path("name")
        if name not in PLUGINS:
            raise ConfigFileInvalid.of(field_error.not_supported(at, name, PLUGINS))
        if (text := _document(plugin, path.parent)) is None:
            continue
        match name:
            case "PodSecurity":
                made = replace(made, pod_security=parse_pod_security(text))
            case "MutatingAdmissionWebhook":
                made = replace(made, mutating_webhooks=_webhook_users(text))
            case "ValidatingAdmissionWebhook":
                made = replace(made, validating_webhooks=_webhook_users(text))
            case _:
                fault = field_error.invalid(at, name, "it takes no configuration")
                raise ConfigFileInvalid.of(fault)
    return made


def _webhook_users(text: bytes) -> WebhookUsers:
    found = decode_config(
        text, _WEBHOOK_API_VERSIONS, "WebhookAdmissionConfiguration", {"kubeConfigFile"}
    )
    if not (given := found.string("kubeConfigFile")):
        return WebhookUsers()
    path = Path(given)
    if not path.is_absolute():
        fault = field_error.invalid("kubeConfigFile", given, "must be an absolute file path")
        raise ConfigFileInvalid.of(fault)
    return read_webhook_users(path)


def _document(plugin: ConfigFields, folder: Path) -> bytes | None:
    """The plugin's own configuration: in place, or in a file beside this one."""
    if plugin.has("configuration"):
        return plugin.document("configuration")
    own = plugin.string("path")
    return (folder / own).read_bytes() if own else None
