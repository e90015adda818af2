"""The process runtime: containers are process groups of this machine, without images."""
