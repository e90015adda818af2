"""SubjectAccessReview: may a user do this?"""

from __future__ import annotations

from proreus.server.kinds.parts.reviews import review

RESOURCES = (review("authorization.k8s.io", "SubjectAccessReview"),)
