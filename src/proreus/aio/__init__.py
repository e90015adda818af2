"""Parts for asyncio programs that know nothing of Kubernetes: they could be published alone."""
