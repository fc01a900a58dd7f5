"""Metrics: what the evaluate modules call, each with named backends."""
