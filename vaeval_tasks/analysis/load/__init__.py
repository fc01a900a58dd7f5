"""Ratings, opinions and automatic scores, read from a run folder or a plain file, checked, as integer codes."""
