"""Durable truth: one revisioned key-value space behind one contract (``interface``)."""
