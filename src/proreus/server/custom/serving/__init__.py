"""Serving of custom kinds.

``kind`` makes Resources of a definition, ``kinds`` puts them into every place that knows kinds.
Objects obey ``object_rules``; tables have the columns of ``printer``.
"""
