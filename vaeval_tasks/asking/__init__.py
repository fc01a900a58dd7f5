"""Asks systems and keeps what they answer: concurrent, resumable, and never paid for twice.

A study is asked by :func:`generate_study`. Every host asks through here too: it opens the run folder
(:func:`open_for_asking`), says what is to be asked (:class:`AskingUnit`), and runs a plan of that (:func:`generate`)
or awaits units one by one in a loop of its own (:class:`Asking`)::

    with open_for_asking(RunDir("run")) as ledger:
        outcome = generate(ledger, AskingPlan(units=units, sessions={"openai_realtime": 8}))
"""

from __future__ import annotations

from vaeval_tasks.asking.engine import Asking
from vaeval_tasks.asking.ledger import Ledger, open_for_asking
from vaeval_tasks.asking.pending import AskingPlan, make_plan
from vaeval_tasks.asking.runner import generate, generate_study
from vaeval_tasks.asking.unit import AskingUnit

__all__ = ["Asking", "AskingPlan", "AskingUnit", "Ledger", "generate", "generate_study", "make_plan", "open_for_asking"]
