"""The paper's experiments, and the figures it prints for them."""
