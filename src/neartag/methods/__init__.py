"""Every method by name: the registry, presets, tuning, and comparing methods on the same data."""
