"""The glue to lm-evaluation-harness, the only room that knows it."""
