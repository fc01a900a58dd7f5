"""The metric modules for Hugging Face ``evaluate``: what their shells call, and how they are published."""
