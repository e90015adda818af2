"""A record of who did what: ``audit.k8s.io/v1`` events, as a policy file asks for them.

``auditor`` decides by the ``policy`` whether a request is recorded, ``event`` is the record and its
bytes, ``log_backend`` and ``webhook_backend`` take the bytes away.
"""
