"""Admission plugins, one file each: what they decide, and what they read for it."""
