"""Objects of a custom kind in another version than they are stored in.

``conversions`` is the strategy None: the same object under another apiVersion. For the strategy
Webhook ``webhook`` makes a call (``review``: its request and response), ``webhooks`` keeps those of
all definitions, and ``webhook_versions`` serves a version; its watches use ``converted_watch``.
"""
