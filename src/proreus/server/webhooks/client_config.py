"""The ``clientConfig`` of a webhook: its address and certificate authorities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from proreus.lazy_dataclass import dataclass

_HTTPS_PORT = 443


@dataclass(frozen=True, slots=True)
class ServiceReference:
    namespace: str
    name: str
    port: int

    @property
    def host(self) -> str:
        """Its name inside the cluster, which its certificate is made out to."""
        return f"{self.name}.{self.namespace}.svc"


@dataclass(frozen=True, slots=True)
class WebhookClientConfig:
    """``service`` None: ``url`` says where the webhook is."""

    url: str  # of a service: with its name inside the cluster
    service: ServiceReference | None
    ca_bundle: str  # base64 of PEM; empty for the authorities of the system

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> WebhookClientConfig:
        bundle = config.get("caBundle") or ""
        given = config.get("service")
        if given is None:
            return cls(config.get("url") or "", None, bundle)
        port = given.get("port") or _HTTPS_PORT
        service = ServiceReference(given["namespace"], given["name"], port)
        url = f"https://{service.host}:{service.port}{given.get('path') or '/'}"
        return cls(url, service, bundle)

    @property
    def address(self) -> str:
        """Host and port as they are named, not as they are resolved."""
        parts = urlsplit(self.url)
        return f"{parts.hostname}:{parts.port or _HTTPS_PORT}"
