"""How controllers are set up. Light: commands read it before they load a controller."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from proreus.net.tls.key_pairs import PairFiles


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """The names and defaults are kube-controller-manager's where it has them.

    ``pod_gc_period_s``: how often pods that will not be finished are looked for; a node must have
    been missing for two periods before its pods go. ``cluster_signing``: the authority that signs
    approved requests for certificates, None: no one does; none lasts longer than
    ``cluster_signing_duration_s``. ``use_service_account_credentials``: each controller writes as
    its own service account. ``volumes_folder``: where volumes of our storage class are folders, of
    this machine; None: no one makes such volumes.
    """

    node_monitor_grace_period_s: float = 50.0
    pod_gc_period_s: float = 20.0
    terminated_pod_gc_threshold: int = 12_500
    cluster_signing: PairFiles | None = None
    cluster_signing_duration_s: float = 365 * 86400.0
    use_service_account_credentials: bool = True
    volumes_folder: Path | None = None
