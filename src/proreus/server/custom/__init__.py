"""Custom resources: kinds that users define while the server runs (spec/server §9).

``definition`` says what a definition must look like, ``controller`` follows the definitions and
serves what they define, ``rules`` is what their objects obey. Start with ``controller``.
"""
