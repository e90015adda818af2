"""Admission: ordered plugins that change or refuse writes."""
