"""The glue to lm-evaluation-harness, the only place that knows it."""
