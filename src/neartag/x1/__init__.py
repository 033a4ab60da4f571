"""The paper's method, X1 (published as SLEEC): a file for each of its steps, then the ensemble and its estimator."""
