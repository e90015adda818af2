"""Certificate signing requests: approved for kubelets, signed by Kubernetes' own signers, and
removed when they are of no use any more.

``signers`` says what each signer certifies; three controllers act on it.
"""

from __future__ import annotations

from proreus.cluster.controllers.certificates.approving import approving_controller
from proreus.cluster.controllers.certificates.cleaning import RequestCleaner
from proreus.cluster.controllers.certificates.signing import signing_controller

__all__ = ["RequestCleaner", "approving_controller", "signing_controller"]
