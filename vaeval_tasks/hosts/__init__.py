"""Evaluation hosts: each runs the same tasks, systems and scoring inside a harness that teams already use."""
