"""Calls to webhooks: HTTPS servers that users run and name in their objects.

``client_config`` is what an object says of its webhook, ``service_resolver`` finds the address of
one that is named by its service, ``users`` says who the server is to it, ``client`` calls it.
Webhooks of the server's own configuration are named by a ``kubeconfig``; ``review_client`` asks
them. Both keep ``connections`` between calls.
"""
