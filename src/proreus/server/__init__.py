"""An API server: storage → watch_cache → registry → http."""
