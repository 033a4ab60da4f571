"""The command line: one short file a command, strung together in main.py."""
