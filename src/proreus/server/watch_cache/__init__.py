"""The present and the recent past of every resource, in memory: lists, and changes to watchers."""
