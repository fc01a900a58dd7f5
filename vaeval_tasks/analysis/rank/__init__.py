"""The board: fits, intervals, ranks, and what depends on them."""
