"""The recorder: what a running program does to the host, at the line that caused it.

`source` is the interface between whatever sees waits (CUDA hooks, the emulated device, a fake in tests) and the
`Recorder`, which attributes each wait to the user's line and hands it to the watches and the session that listen.
"""
