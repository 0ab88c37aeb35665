"""Public functions that are no kernels: creation, iteration, files, text, and what NumPy does on the host."""
