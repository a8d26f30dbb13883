"""Cells of tab-separated files that people open in a spreadsheet and send back.

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a formula, and quotation marks at the start
for quoting. So such a text gets an apostrophe before it, or is quoted. Reading undoes both.
"""

import re
from collections import Counter
from collections.abc import Iterable

from mpu_cli.errors import one_line

_FORMULA = re.compile(r"'*[=+\-@\uff0b\uff0d\uff1d\uff20]")
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')


def cell(text: str) -> str:
    """Return the cell of a text: no formula, one line, no tab.

    Examples
    --------
    >>> cell("=1+1"), cell("'=1+1"), cell("plain")
    ("'=1+1", "''=1+1", 'plain')
    >>> print(cell('"Capital" (book)').replace('"', "''"))
    ''''''Capital'''' (book)''
    """
    text = one_line(text)
    if _FORMULA.match(text):
        return f"'{text}"
    return '"' + text.replace('"', '""') + '"' if text.startswith('"') else text


def meanings(text: str) -> list[str]:
    """Return the texts that a cell may stand for, first the one that `cell` writes so.

    Spreadsheets also put quotation marks around a text that has a comma or quotation marks in it, and people write
    texts as they are.

    Examples
    --------
    >>> meanings("'=1+1")
    ['=1+1', "'=1+1"]
    >>> meanings('"Bread, butter"')
    ['Bread, butter', '"Bread, butter"']
    """
    texts = []
    quoted = _QUOTED.fullmatch(text)
    for form in ([quoted[1].replace('""', '"')] if quoted else []) + [text]:
        if form.startswith("'") and _FORMULA.match(form):
            texts.append(form[1:])
        texts.append(form)
    return texts


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that is repeated, empty ones aside; None if there is none.

    Examples
    --------
    >>> first_repeated(["", "a", "b", "", "b", "a"])
    'a'
    """
    return next((name for name, count in Counter(names).items() if name and count > 1), None)
