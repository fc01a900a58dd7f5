"""Exports of other tools: what their columns are called and how their answers become scores.

::

    export = found_export(sheet)            # by its columns; None where they are nobody's
    reading = export.read(sheet, hints)     # rows in our columns, words, scale, and what is to be said of it

Each form is that of the tool's own documentation or source, named beside it. What a file does not hold (which systems
a question compares) comes from a pattern or a key, see :class:`Hints`.
A new tool is a module here with one :class:`Export`, and a line below.
"""

from __future__ import annotations

from vaeval_tasks.analysis.load.exports import argilla, forms, jspsych, label_studio, lmarena, p808, potato, voicemos
from vaeval_tasks.analysis.load.exports import webmushra as mushra
from vaeval_tasks.analysis.load.exports.export_reading import Export, Hints, Reading
from vaeval_tasks.errors import UnknownNameError
from vaeval_tasks.store.sheets import Sheet

__all__ = ["EXPORTS", "Export", "Hints", "Reading", "found_export", "named_export"]

EXPORTS: tuple[Export, ...] = (
    lmarena.EXPORT,
    label_studio.EXPORT,
    potato.EXPORT,
    jspsych.EXPORT,
    mushra.EXPORT,
    p808.EXPORT,
    voicemos.EXPORT,
    argilla.EXPORT,
    forms.EXPORT,
)


def found_export(sheet: Sheet) -> Export | None:
    """Return the export whose columns a file has; None where they are nobody's."""
    return next((export for export in EXPORTS if export.fits(sheet)), None)


def named_export(name: str) -> Export:
    """Return the export of that name.

    Raises:
        UnknownNameError: there is none.
    """
    for export in EXPORTS:
        if export.name == name:
            return export
    raise UnknownNameError("format", name, [export.name for export in EXPORTS], where="--format")
