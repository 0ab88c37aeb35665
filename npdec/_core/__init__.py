"""The vocabulary that all packages share: root classes, tags, signatures, the meters of long computations."""
