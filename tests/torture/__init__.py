"""The torture bench: inputs, folders and moments that nobody would choose, by the thousand, until something gives way.

`make torture` runs it for a while (`TORTURE="--minutes 60 --seed 7"`); `python -m torture --help` tells more. A case is
known by its kind, the seed and its number, and can be run again alone. Cases that failed once are kept in kept/, and
test_torture.py replays them.
"""
