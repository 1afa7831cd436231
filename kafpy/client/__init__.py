"""A small client for the command line, tests and tools."""
