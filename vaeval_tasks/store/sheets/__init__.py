"""The one reader of files that people give us: ratings, MOS, comments, manifests, reviews, gold pairs, figures.

::

    sheet = read_sheet("ratings.csv.gz", encoding="latin-1")   # or "-": standard input
    sheet.column("rater")                       # distinct values and a code per row: big files, no Python pass
    sheet.records(("script_id", "take"), required=("script_id",))   # one SheetRow a row, with typed cells

What a file may hold is the same for everyone who reads one (``-`` tells its kind by its content):

- Endings: :data:`ENDINGS`, each also with ``.gz``. ``.json`` and ``.yaml`` hold a list of mappings; JSON may hold
  columns instead. Of a workbook the first sheet that is not empty is read, every cell as text.
- Text is UTF-8, with or without a byte order mark, or the encoding that is named, or (``auto``) the one that is found.
  A NUL byte is refused.
- CSV has commas, tabs, semicolons or bars, whichever cuts its rows evenly. Blank lines are passed over and not counted.
  Every row has as many cells as the header. Quotes are closed, and end their cell.
- Column names are stripped; none is there twice or is blank, but for the first: R and pandas write row numbers so.
- A file without a row is refused.
- Every problem is an InputError or UnknownNameError of one line that names file, row (1 is the first row of data) and
  field.

What a program hands over instead of a file (a data frame, columns, rows) becomes a sheet in :func:`frame_sheet`.
A new kind of file is a row in ``reader.py`` that makes a :class:`Sheet` of its bytes.
"""

from vaeval_tasks.store.sheets.cell_values import flag, real
from vaeval_tasks.store.sheets.frames import frame_sheet
from vaeval_tasks.store.sheets.reader import ENDINGS, pasted_sheet, read_sheet
from vaeval_tasks.store.sheets.sheet import Column, Sheet, SheetRow

__all__ = ["ENDINGS", "Column", "Sheet", "SheetRow", "flag", "frame_sheet", "pasted_sheet", "read_sheet", "real"]
