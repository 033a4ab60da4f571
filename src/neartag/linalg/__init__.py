"""Linear algebra on sparse or dense rows: products, factorisations, rounding, CSR helpers and their kernels."""
