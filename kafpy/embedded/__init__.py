"""A whole broker inside a process: for tests, notebooks and examples."""
