"""Admission plugins, one file each."""
