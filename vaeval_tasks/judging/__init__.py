"""A judge of pairs: an audio-capable chat model answers the rubric questions on the pairs of the design, both ways.

Its ratings are kept in tables of their own (``judge_ratings``, ``judges``) and are never mixed with people's.

Four things are called a judge here; each has one name in the code:

* A **content judge** (:mod:`vaeval_tasks.metrics.content_judge`) reads one answer and says right or wrong, good or bad:
  a metric, 1 or 0. It is a chat model (``ChatContentJudge``) or rules (``RulesJudge``). Users meet it as
  ``--metadata judge_url=`` and as the Hub module ``judge_correctness``.
* A **judge of pairs** (this room: ``PairJudgeSettings``, ``judge_pairs``) hears two answers and says which is preferred
  and by how much: a rater, beside people. Users meet it as ``vaeval judge``; each of its answers is a ``Judgement``.
* A **judge id** is the name of such a rater in the tables: the model and the checksum of its instructions.
* A **judge view** (:mod:`vaeval_tasks.analysis.agree`) sets the ratings of a judge of pairs beside people's.

Both judges ask through :class:`vaeval_tasks.services.http.chat.ChatClient`.
"""
