"""A signer of pod certificates, as anybody may run one."""

from __future__ import annotations

import base64
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from cryptography.x509 import load_der_x509_csr

from proreus.aio.tasks import background
from proreus.api.values.timestamp import format_time
from proreus.client import Client, KubeObject
from proreus.net.tls.issuing import make_authority
from proreus.net.tls.signing import sign_request

SIGNER = "example.com/pods"
AUTHORITY = make_authority("pods", now=time.time())


def projected(**certificate: Any) -> dict[str, Any]:
    """A volume of the name ``id``."""
    said = {"signerName": SIGNER, "keyType": "ED25519", **certificate}
    return {"name": "id", "projected": {"sources": [{"podCertificate": said}]}}


def issued(request: KubeObject, *, refresh_s: float = 3600) -> dict[str, Any]:
    """The status that has a certificate."""
    now, lasts_s = time.time(), float(request.spec.maxExpirationSeconds)
    asked = load_der_x509_csr(base64.b64decode(request.spec.stubPKCS10Request))
    chain = sign_request(AUTHORITY, asked, ["client auth"], now=now, lasts_s=lasts_s).decode()
    times = {"notBefore": now, "beginRefreshAt": now + refresh_s, "notAfter": now + lasts_s}
    return {
        **ended("Issued"),
        "certificateChain": chain,
        **{name: format_time(moment) for name, moment in times.items()},
    }


def ended(kind: str, message: str = "m") -> dict[str, Any]:
    condition = {"type": kind, "status": "True", "reason": "Test", "message": message}
    return {"conditions": [{**condition, "lastTransitionTime": format_time(time.time())}]}


@asynccontextmanager
async def signing(client: Client, *, refresh_s: float = 3600) -> AsyncIterator[None]:
    """Issues whatever is asked for meanwhile, and was before."""

    async def sign() -> None:
        requests = client.certificates_v1.podcertificaterequests("default")
        async with requests.watch() as events:
            async for event in events:
                if event.type == "ADDED":
                    status = issued(event.object, refresh_s=refresh_s)
                    await requests.patch_status(event.object.name, {"status": status})

    async with background(sign()):
        yield
