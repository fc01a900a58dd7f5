"""vaeval: score voice assistants by machine and by people.

The package has three doors: the ``vaeval`` command line, the rating app and lm-evaluation-harness.
Importing it loads no heavy library.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
