"""Asks systems and keeps what they answer: concurrent, resumable, and never paid for twice.

Every host asks through here: it opens the run folder (:func:`open_for_asking`), says what is to be asked
(:class:`AskingUnit`), and runs a plan (:func:`generate`) or awaits units one by one (:class:`Asking`)::

    with open_for_asking(RunDir.existing("study")) as ledger:
        outcome = generate(ledger, make_plan(ledger.run, configs))
"""

from __future__ import annotations

from vaeval_tasks.generate.engine import Asking
from vaeval_tasks.generate.ledger import Ledger, open_for_asking
from vaeval_tasks.generate.plan import AskingPlan, make_plan
from vaeval_tasks.generate.runner import generate
from vaeval_tasks.generate.unit import AskingUnit

__all__ = ["Asking", "AskingPlan", "AskingUnit", "Ledger", "generate", "make_plan", "open_for_asking"]
