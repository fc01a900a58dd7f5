"""How the package talks HTTP: what an answer means, when to ask again, when to stop, and the one chat client.

* :mod:`~vaeval_tasks.services.http.meaning`: one table from statuses, error codes and error texts to what they mean,
  for errors with an HTTP status, inside HTTP 200 and in events alike.
* :mod:`~vaeval_tasks.services.http.waits`: one reading of every form in which a server asks to be left alone.
* :mod:`~vaeval_tasks.services.http.retry`: one pure decision, wait, stop or return, that sync and async callers share.
* :mod:`~vaeval_tasks.services.http.breaker`: one answer to "is the endpoint gone?".
* :mod:`~vaeval_tasks.services.http.secrets`: keys are read here, and taken out of all that is shown.
* :mod:`~vaeval_tasks.services.http.chat`: one client of OpenAI-compatible chat completions.

A new service needs rows in the table, not a loop of its own.
"""
