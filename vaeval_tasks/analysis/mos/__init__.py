"""Mean opinion scores of single responses."""
