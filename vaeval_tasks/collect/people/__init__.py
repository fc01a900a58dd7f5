"""Who the raters are, kept apart from what they answer."""
