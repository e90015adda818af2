"""What objects are given that is unique in the cluster: the addresses and ports of services."""
