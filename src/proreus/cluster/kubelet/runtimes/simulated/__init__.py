"""The simulated runtime: containers that are functions of time, thousands in one process."""
