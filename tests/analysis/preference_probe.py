"""Run in a process of its own, without a network and with an empty HF_HOME; see test_modules.py.

Prints one JSON object: module name -> what was found.
"""

import doctest
import json
import os
import socket
import sys


def _blocked(*_args, **_kwargs):
    raise OSError("the network is blocked in this test")


def refusal(call):
    """Return the message of the error that a call must raise."""
    try:
        call()
    except (ValueError, TypeError) as error:
        return str(error)
    except Exception as error:  # a probe reports whatever came instead
        return f"{type(error).__name__}: {error}"
    return "accepted"


GOOD = {
    "cmos_elo": {
        "a": ["x", "x", "y", "x", "z", "z"],
        "b": ["y", "y", "x", "z", "y", "x"],
        "score": [1, 2, 1, 1, 0, 1],
        "rater": ["r", "s", "r", "s", "r", "s"],
        "prompt": ["1", "1", "2", "2", "3", "3"],
    },
    "mos": {
        "system": ["x", "x", "y", "y"],
        "prompt": ["1", "2", "1", "2"],
        "rater": ["r", "s", "r", "s"],
        "score": [5, 4, 2, 3],
    },
    "rater_agreement": {
        "unit": ["1", "1", "2", "2", "3"],
        "rater": ["r", "s", "r", "s", "r"],
        "score": [2, 1, -1, -2, 0],
    },
}
BAD = {
    "score": [None, float("nan"), "2", True, 1.5, [1], 9],
    "rater": [None, float("nan"), ["b"], 3, " "],
}


def late(module, good, column, value):
    """Return the refusal of a bad cell in the second row."""
    cells = [good[column][0], value, *good[column][2:]]
    return refusal(lambda: module.compute(**{**good, column: cells}))


def probe(evaluate, name, script):
    good = GOOD[name]
    first = evaluate.load(script)
    result = first.compute(**good)
    memory = evaluate.load(script, keep_in_memory=True)
    for i in range(len(good["score"])):
        memory.add(**{column: cells[i] for column, cells in good.items()})
    return {
        "name": first.name,
        "type": first.info.module_type,
        "description": first.description,
        "result": json.loads(json.dumps(result, allow_nan=False)),
        "types": sorted({type(value).__name__ for value in result.values()}),
        "single": memory.compute() == result,
        "empty": json.loads(json.dumps(memory.compute(**{column: [] for column in good}), allow_nan=False)),
        "bare": refusal(lambda: memory.compute(**{**good, "rater": "abc"})),
        "late": {f"{c} {v!r}": late(memory, good, c, v) for c, values in BAD.items() for v in values},
        "length": refusal(lambda: memory.compute(**{**good, "score": good["score"][:-1]})),
        "missing": refusal(lambda: memory.compute(**{k: v for k, v in good.items() if k != "score"})),
        "init": refusal(lambda: evaluate.load(script, model_pth="x")),
        "option": refusal(lambda: memory.compute(**good, no_such_option=1)),
        "doctest": list(doctest.testmod(sys.modules[type(first).__module__])),
    }


def main(folder):
    socket.socket.connect = socket.create_connection = socket.getaddrinfo = _blocked
    import evaluate

    found = {}
    for name in GOOD:
        # the folder itself is first on the path, as when a Space runs its app.py
        os.chdir(f"{folder}/{name}")
        sys.path.insert(0, f"{folder}/{name}")
        found[name] = probe(evaluate, name, f"{folder}/{name}/{name}.py")
        sys.path.pop(0)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
