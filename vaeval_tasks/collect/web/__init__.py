"""The web side of the rating app: pages, the task API, clips and the admin page."""
