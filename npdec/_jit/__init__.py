"""np.jit: a function is run once on stand-ins for its arrays, and the operations that it did become a compiled graph."""
