"""The model folder: written whole or not at all, read by memory map, checked before use."""
