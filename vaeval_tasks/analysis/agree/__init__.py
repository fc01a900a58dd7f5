"""Whether raters agree with each other, halves with halves, and rubrics with rubrics."""
