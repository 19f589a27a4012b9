"""A structure of one's own, in plain Python and compiled: seconds a pass of the same solver.

python benchmarks/own_structure.py
"""

from __future__ import annotations

import re
import time
import warnings
from pathlib import Path

from common import machine, note, recorded

QUICK = [[]]

PAGE = Path(__file__).parents[1] / "docs" / "own-structure.md"


def page():
    """What the page's examples define, up to both forms of the structure."""
    names = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(code, names)
        if "at_most_two" in names:
            break
    return names


def main():
    warnings.simplefilter("ignore")  # five passes are no convergence
    names = page()
    X, y = names["make"](5000, seed=1)
    print(f"# at most two of 4 to 8 items, 5,000 sets; {machine()}, {time.strftime('%Y-%m-%d')}")
    found = {}
    for name, structure in (("plain", names["AtMostTwo"]()), ("compiled", names["at_most_two"])):
        for form in ("active-set", "dense"):
            model = names["StructuredPredictor"](
                structure,
                regularization=0.01,
                max_passes=5,
                tol=0,
                random_state=0,
                solver_options={"form": form},
            )
            model.fit(X[:50], y[:50])  # compiles
            model.fit(X, y)
            found[name, form] = model.certificate_.seconds / 5
            note(what=f"{name}, {form}", seconds_per_pass=found[name, form])
            print(f"{name:8s} {form:10s}: {found[name, form]:.4f} s a pass with its evaluation")
    for form in ("active-set", "dense"):
        print(f"{form}: compiled is {found['plain', form] / found['compiled', form]:.0f}x faster")


if __name__ == "__main__":
    recorded(main)
