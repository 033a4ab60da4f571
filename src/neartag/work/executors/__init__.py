"""Who runs the tasks of a plan."""
