"""The one error that readers raise: a sentence that names the file and the line."""

from __future__ import annotations

import os
from typing import Self, TypeAlias

from structlearn.core.sentences import Statement
from structlearn.core.wording import plain

StrPath: TypeAlias = str | os.PathLike[str]


class DataError(ValueError):
    """A file cannot be read (or written) as asked; the message is a sentence for its author.

    It is one line that can be printed and is not too long, whatever the file holds or is named.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(plain(message))
        #: the same with its parameters named, where it names some
        self.sentence = message if isinstance(message, Statement) else None

    @classmethod
    def at(cls, path: StrPath, line: int, message: str) -> Self:
        """Return the error of one line: ``scene.txt, line 12: <message>``."""
        return cls(
            Statement("{where}, line {line}: {message}", where=os.fspath(path), line=line, message=message)
        )
