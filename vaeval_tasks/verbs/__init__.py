"""What the verbs do, as functions: one module a verb, called by the command line and, as ``vaeval_tasks``, by Python.

A function takes the verb's options under their names on the command line and returns a record that shows itself
(:class:`vaeval_tasks.analysis.shown.Shown`). It prints nothing; what is wrong is a VaevalError.
"""
