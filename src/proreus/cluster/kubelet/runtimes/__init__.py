"""What containers are made of: ``simulated`` ones are functions of time."""
