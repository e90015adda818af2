"""SelfSubjectRulesReview: what may I do in a namespace?"""

from __future__ import annotations

from proreus.server.kinds.parts.reviews import review

RESOURCES = (review("authorization.k8s.io", "SelfSubjectRulesReview"),)
