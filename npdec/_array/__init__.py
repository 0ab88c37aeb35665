"""The array and its scalars: memory, indices, methods, protocols, printing."""
