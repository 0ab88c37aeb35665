"""Programs that say `import numpy`, run with npdec in its place: which modules, what they import, and what they use."""
