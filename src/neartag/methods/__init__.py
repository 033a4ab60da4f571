"""The methods as one list: the registry, presets, the search for settings, and comparisons."""
