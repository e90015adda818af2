"""Kinds of ``autoscaling``."""
