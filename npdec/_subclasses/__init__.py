"""Classes that a program derives from `np.ndarray`: their arrays, and what takes over where one is met."""
