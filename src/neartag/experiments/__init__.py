"""The paper's experiments: one file per table or figure, a runner that keeps every result, and the report."""
