"""Run in a process of its own, without a network and with an empty HF_HOME; see test_modules.py.

Prints one JSON object: module name -> what was found.
"""

import doctest
import json
import os
import socket
import sys

import numpy as np


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


RNG = np.random.default_rng(0)
VOICE = {"array": RNG.normal(0, 0.1, 32000).astype(np.float32), "sampling_rate": 16000}
SHORT = {"array": np.full(160, 0.3, np.float32), "sampling_rate": 16000}
NAN = {"array": np.array([0.1, np.nan], np.float32), "sampling_rate": 16000}

GOOD = {
    "utmos": {"predictions": [VOICE, SHORT]},
    "speaker_similarity": {"predictions": [VOICE, SHORT], "references": [VOICE, VOICE]},
    "modified_wer": {"predictions": ["hello there world", "x"], "references": ["hello there word", "y"]},
    "judge_correctness": {
        "predictions": ["It is Paris.", "London"],
        "references": [["Paris"], ["Paris"]],
        "questions": ["Is it Paris or London?", "Is it Paris or London?"],
        "task": "listening_general",
    },
}
BAD_ROWS = {"utmos": [None, 3, NAN], "speaker_similarity": [None, 3, NAN]}


def probe(evaluate, name, script):
    good = GOOD[name]
    columns = [key for key, value in good.items() if isinstance(value, list)]
    first, second = evaluate.load(script), evaluate.load(script)
    result = first.compute(**good)
    memory = evaluate.load(script, keep_in_memory=True)
    bad = BAD_ROWS.get(name, [None, float("nan"), ["b"]])
    one = {key: value[0] for key, value in good.items() if key in columns}
    memory.add(**{key.removesuffix("s"): value for key, value in one.items()})
    single = memory.compute(**{key: value for key, value in good.items() if key not in columns})
    empty = {key: [] if key in columns else value for key, value in good.items()}
    return {
        "name": first.name,
        "description": first.description,
        "result": json.loads(json.dumps(result, allow_nan=False)),
        "types": sorted({type(v).__name__ for v in result.values()}),
        "second": second.compute(**good) == result,
        "single": single["scores"] == result["scores"][:1],
        "empty": json.loads(json.dumps(memory.compute(**empty), allow_nan=False)),
        "bare": refusal(lambda: memory.compute(**{**good, "predictions": "abc"})),
        "late": [
            refusal(lambda b=b: memory.compute(**{**good, "predictions": [good["predictions"][0], b]})) for b in bad
        ],
        "length": refusal(lambda: memory.compute(**{**good, "predictions": good["predictions"][:1]})),
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
