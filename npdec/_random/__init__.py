"""Random numbers: streams, distributions, generators."""
