"""Configuration files of a server: read at the start, checked field by field, followed after."""
