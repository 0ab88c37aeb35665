"""np.jit: a function is run once on stand-ins for its arrays; what it did to them becomes a compiled graph."""
