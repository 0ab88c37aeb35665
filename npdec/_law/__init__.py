"""The law of decomposition, by the tags of arguments: slopes, quadrature, jumps, reverse mode, settings."""
