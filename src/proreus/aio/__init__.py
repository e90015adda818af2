"""Building blocks for asyncio programs; nothing here knows of Kubernetes."""
