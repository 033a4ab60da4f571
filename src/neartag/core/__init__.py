"""What every room stands on: errors, parameters as data, progress, threads, memory, validation, compiled kernels."""
