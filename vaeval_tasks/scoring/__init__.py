"""From stored responses to scores: the tasks, the metrics of a response, their combination and ``results.json``."""
