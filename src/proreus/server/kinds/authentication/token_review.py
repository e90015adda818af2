"""TokenReview: whose token is this?"""

from __future__ import annotations

from proreus.server.kinds.parts.reviews import review

RESOURCES = (review("authentication.k8s.io", "TokenReview"),)
