"""Which automatic score may stand in for people."""
