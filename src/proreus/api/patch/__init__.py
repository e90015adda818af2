"""The four patches and field ownership: pure functions over decoded objects."""
