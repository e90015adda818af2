"""A CustomResourceDefinition as an object: what it must look like, its status, its deletion.

Validation begins in ``rules``; ``versions``, ``schema_rules`` and ``conversion_rules`` are parts of
it. ``names``, ``conditions`` and ``standing`` decide about the status.
"""
