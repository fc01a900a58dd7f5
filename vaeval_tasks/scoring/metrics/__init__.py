"""The metrics of a response, a module or an entry each; see :class:`vaeval_tasks.scoring.metric.ResponseMetric`."""
