"""vaeval: score voice assistants by machine and by people.

The command line, the rating app, lm-evaluation-harness, and Python::

    import vaeval_tasks as vaeval

    board = vaeval.rank(frame, columns={"score": "rating"})

The functions do what the verbs of their names do; see :mod:`vaeval_tasks.verbs`. Importing the package loads no heavy
library: each function's room is loaded when the function is first looked at.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vaeval_tasks.verbs.agree import agree
    from vaeval_tasks.verbs.board import board
    from vaeval_tasks.verbs.compare import compare
    from vaeval_tasks.verbs.generate import generate
    from vaeval_tasks.verbs.load import load
    from vaeval_tasks.verbs.mos import mos
    from vaeval_tasks.verbs.pair import pair
    from vaeval_tasks.verbs.rank import rank
    from vaeval_tasks.verbs.score import score

__version__ = "0.1.0"

__all__ = ["__version__", "agree", "board", "compare", "generate", "load", "mos", "pair", "rank", "score"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    function = globals()[name] = getattr(import_module(f"{__name__}.verbs.{name}"), name)
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
