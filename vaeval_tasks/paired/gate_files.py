"""What a gate writes for others: JUnit XML, and Markdown for a job's summary."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from vaeval_tasks.paired.gate_check import GateOutcome, GateResult

__all__ = ["gate_markdown", "junit", "junit_error"]

_SUITE = "vaeval gate"
_SHOWN = 5


def junit(result: GateResult) -> str:
    """Return the checks as JUnit XML: a failure is a regression, what could not be tested is skipped."""
    suite = _suite(
        tests=len(result.checks),
        failures=len(result.regressions),
        skipped=sum(check.outcome is GateOutcome.skipped for check in result.checks),
    )
    for check in result.checks:
        case = ET.SubElement(suite, "testcase", classname=_SUITE, name=check.name, time="0")
        if check.outcome is GateOutcome.regression:
            ET.SubElement(case, "failure", message=_clean(check.said), type="regression").text = _clean(result.summary)
        elif check.outcome is GateOutcome.skipped:
            ET.SubElement(case, "skipped", message=_clean(check.said))
        else:
            ET.SubElement(case, "system-out").text = _clean(check.said)
    return _text(suite)


def junit_error(message: str) -> str:
    """Return JUnit XML of a gate that could not compare: an error, which is no regression."""
    suite = _suite(tests=1, errors=1)
    case = ET.SubElement(suite, "testcase", classname=_SUITE, name="comparison", time="0")
    ET.SubElement(case, "error", message=_clean(message), type="input")
    return _text(suite)


def _suite(**counts: int) -> ET.Element:
    given = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0} | counts
    return ET.Element("testsuite", {"name": _SUITE} | {name: str(n) for name, n in given.items()})


def _text(suite: ET.Element) -> str:
    whole = ET.Element("testsuites")
    whole.append(suite)
    ET.indent(whole)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(whole, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    """Without what XML 1.0 cannot hold."""
    return "".join(
        c if c in "\t\n" or (c >= " " and not "\ud800" <= c <= "\udfff" and c < "\ufffe") or c > "\uffff" else "\ufffd"
        for c in text
    )


def gate_markdown(result: GateResult) -> str:
    """Return the checks, and the items that flipped for the worse, as Markdown."""
    lines = [f"### vaeval gate: {_cell(result.summary)}", ""]
    lines += [
        "| | baseline | run | difference | 95 % interval | p | items | finds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    marks = {GateOutcome.regression: "**regression** ", GateOutcome.skipped: "not tested ", GateOutcome.passed: ""}
    for check in result.checks:
        one = check.contrast
        numbers = [_number(one.first), _number(one.second), _number(one.difference, "+"), _interval(one.low, one.high)]
        rest = [_number(check.p, digits=4), str(one.found.items), _number(one.found.detectable)]
        why = f": {one.reason}" if check.outcome is GateOutcome.skipped else ""
        cells = [marks[check.outcome] + check.name + why, *numbers, *rest]
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    lost = [flip for flip in result.pair.flips if flip.change < 0]
    if lost:
        lines += ["", f"{len(lost)} items flipped for the worse; the worst:", ""]
        lines += [
            f"- {_cell(flip.task)} {_cell(flip.item_id)}, {flip.kind.value}: "
            f"“{_cell(flip.first.text[:120])}” → “{_cell(flip.second.text[:120])}”"
            for flip in lost[:_SHOWN]
        ]
    lines += [f"\n{_cell(note)}" for note in result.pair.notes]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text that cannot leave its cell, nor become a tag."""
    line = " ".join(text.split())
    for sign in "\\`|<>[]":
        line = line.replace(sign, {"<": "&lt;", ">": "&gt;"}.get(sign, f"\\{sign}"))
    return line


def _number(value: float | None, sign: str = "", digits: int = 1) -> str:
    return "–" if value is None else f"{value:{sign}.{digits}f}"


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{low:+.1f} to {high:+.1f}"
