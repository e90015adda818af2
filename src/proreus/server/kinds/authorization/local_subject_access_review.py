"""LocalSubjectAccessReview: may a user do this in a namespace?"""

from __future__ import annotations

from proreus.server.kinds.parts.reviews import review

RESOURCES = (review("authorization.k8s.io", "LocalSubjectAccessReview", namespaced=True),)
