"""Speech-to-speech systems behind one protocol; see :mod:`vaeval_tasks.models.protocol`."""
