"""Another program that decides: it is sent a SubjectAccessReview and answers what is allowed.

``review`` is the question and the answer, ``remembered_verdicts`` what was answered before, and
``authorizer`` asks.
"""
