"""The TLS identity of the kubelet's endpoint, and the authority of its clients.

As with Kubernetes' kubelet, its own certificate is self-signed and the API server does not check
it; the API server's is checked here, against the authority that the kubelet is configured to trust.
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path

from proreus.client import ClientConfig
from proreus.net.tls import certificates, contexts


def endpoint_context(
    config: ClientConfig, hosts: Sequence[str], *, folder: Path | None, now: float
) -> ssl.SSLContext | None:
    """None if the configuration names no authority: then no client could be authenticated.

    The key is kept in ``folder``, so that a second start need not make one (which takes a while);
    without a folder it lives in memory. Blocks: call it before serving.
    """
    authority = config.tls.ca_data
    if not authority and config.tls.ca_file:
        authority = Path(config.tls.ca_file).read_bytes()
    if not authority:
        return None
    if folder is not None:
        pair = certificates.ensure_self_signed(folder, "kubelet", hosts, now=now)
        return contexts.server_context(pair, authority.decode())
    with tempfile.TemporaryDirectory(prefix="kubelet-") as passing:
        pair = certificates.ensure_self_signed(Path(passing), "kubelet", hosts, now=now)
        return contexts.server_context(pair, authority.decode())
