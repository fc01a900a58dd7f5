"""A judge as a rater: an audio-capable chat model answers the rubric questions on the pairs of the design, both ways.

Its ratings are kept in tables of their own (``judge_ratings``, ``judges``) and are never mixed with people's.
"""
