"""One function scores responses."""
