"""Storage: one revisioned key-value space behind one contract (``interface``)."""
