"""The rating app: people listen to responses and answer the rubrics; no answer may be lost or biased."""
