"""Scalar values with a grammar of their own."""
