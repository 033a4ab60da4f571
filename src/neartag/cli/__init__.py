"""The command line: one short file per command, listed in main.py."""
