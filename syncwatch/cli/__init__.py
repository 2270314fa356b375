"""The command line. One file per command, found through the table in `commands`."""
