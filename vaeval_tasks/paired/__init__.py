"""Scored runs on the items they share: what differs, whether it is real, and which answers changed."""
