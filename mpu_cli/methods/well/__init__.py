"""WELL: weak label learning (Sun, Zhang and Zhou 2010)."""
