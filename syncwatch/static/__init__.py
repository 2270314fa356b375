"""The static engine: source files in, events out. Never imports torch."""
