"""A resource that looks at one column of words and adds one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class OneColumn:
    """name : that of the column which is added; word : the column to look at."""

    name: str
    word: str

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are added."""
        return [self.name]

    @property
    def needs(self) -> list[str]:
        """Columns that are looked at."""
        return [self.word]
