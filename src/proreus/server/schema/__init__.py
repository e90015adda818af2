"""Schemas of built-in kinds: shapes, decoding checks, defaults, validation, conversion.

Everything here is pure: decoded JSON in, decoded JSON, violations or errors out.
"""
