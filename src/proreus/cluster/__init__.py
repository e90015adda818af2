"""Programs that keep a cluster alive: controllers, scheduler, kubelet; only on ``client``."""
