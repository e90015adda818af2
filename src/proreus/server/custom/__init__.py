"""Custom resources: kinds that users define while the server runs (spec/server §9).

``definition`` says what a definition must look like, ``controller`` follows the definitions and
serves what they define, ``rules`` is what their objects obey. Start with ``controller``.

Objects are stored in the version their definition says, and say which that was. Other versions are
the same object with another apiVersion (``conversion``), or what a webhook makes of it
(``webhook_versions``; for watches ``converted_watch``).
"""
