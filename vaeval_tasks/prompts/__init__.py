"""Prompt sets: a manifest and recordings become checked, selected, trimmed and loudness-normalised prompts."""
