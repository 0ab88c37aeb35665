"""The tensor that carries components: their kinds, their memory, and how they move with their labels."""
