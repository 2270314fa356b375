"""The abstract interpreter: executes a program over abstract values and records where the host would wait."""
