"""Small examples that come with the library: data for every task of `train`, and commands to try on them.

Each module has constants that are `TaskExample`s; the entry of a task names its own (`TaskEntry.example`).
"""
