"""What leaves the collection: the run's tables, pseudonymous, with their codebook."""
