"""The messy table of docs/tables.md: `python docs/orders.py [--draw]` runs its commands, and shows answers.

What a command printed stands between its marks, `<!-- orders: NAME -->` and `<!-- end -->`. With --draw, the
page of `show` is drawn by a headless Chromium, which must be installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from structlearn.cli import app

DOCS = Path(__file__).parent
PAGE, PICTURE = DOCS / "tables.md", DOCS / "images" / "table-page.png"
MARKED = re.compile(r"(?P<begin><!-- orders: (?P<name>[\w-]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)
HEADER = ",name,age,city,paid,discount,ordered,member,comment,returned"
#: Words of comments, and how much they speak for an order that is sent back.
WORDS = {
    **{"late": 1.3, "broken": 1.5, "refund": 1.6, "damaged": 1.4, "slow": 1.0, "rude": 1.1},
    **{"great": -1.4, "lovely": -1.3, "friendly": -1.2, "perfect": -1.6, "kind": -0.8, "quick": -1.0},
    **dict.fromkeys(("again", "parcel", "box", "fine"), 0.0),
}
FILES = {"orders.csv": 500, "held-out-orders.csv": 500, "other-orders.csv": 500, "new-orders.csv": 5}
M = "orders.safetensors"
#: Commands whose answers the page shows: their words, and whether it shows what they say on stderr.
COMMANDS: dict[str, tuple[str, bool]] = {
    "train": (f"train classify orders.csv --target returned --out {M}", True),
    "evaluate": (f"evaluate {M} held-out-orders.csv", False),
    "weights": (f"weights {M} --label yes --top 8", False),
    "proba": (f"predict {M} new-orders.csv --proba", False),
    "calibrate": (f"calibrate {M} held-out-orders.csv --out {M}", False),
    "conformalize": (f"conformalize {M} other-orders.csv --out {M}", False),
    "coverage": (f"predict {M} new-orders.csv --coverage 0.9", False),
}


def write_orders(folder: Path) -> None:
    """Write tables as people have them: gaps, money, percent, dates, yes and no, comments."""
    rng, at = np.random.default_rng(3), 0
    for name, n in FILES.items():
        lines = [HEADER, *(_row(k, rng) for k in range(at, at + n))]
        (folder / name).write_text("\n".join(lines) + "\n")
        at += n


def _row(k: int, rng: np.random.Generator) -> str:
    own = rng.choice(list(WORDS), rng.integers(4, 9)).tolist()
    age = str(rng.choice(["", "unknown"])) if rng.random() < 0.08 else str(rng.integers(18, 80))
    city, member = (
        str(rng.choice(["Rome", "Oslo", "Paris", ""], p=[0.4, 0.3, 0.25, 0.05])),
        rng.random() < 0.4,
    )
    paid = rng.lognormal(6, 1)
    when = f"{rng.integers(1, 29)}/{rng.integers(1, 13)}/{rng.integers(2020, 2024)}"
    score = sum(WORDS[one] for one in own) / 2 + (city == "Rome") - member + 0.4 * (np.log(paid) - 6)
    start = f'{k},Bo {k},{age},{city},"${paid:,.2f}",{rng.integers(0, 50)}%,{when}'
    returned = "yes" if score + rng.logistic() / 2 > 0 else "no"
    return f"{start},{'yes' if member else 'no'},{' '.join(own)}.,{returned}"


def run(words: str, *, talk: bool = False) -> str:
    """Return what a command prints; with `talk`, what it says on stderr instead."""
    found = CliRunner().invoke(app, words.split(), catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stderr if talk else found.stdout


def draw(page: Path) -> None:
    """Draw the upper part of a page."""
    browser = shutil.which("chromium") or "chromium"
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
        flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
        flags += [f"--user-data-dir={profile}", "--hide-scrollbars", "--window-size=1000,2050"]
        command = [browser, *flags, f"--screenshot={PICTURE}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603


def main() -> None:
    """Write the page again."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            write_orders(Path(name))
            said = {}
            for key, (words, talk) in COMMANDS.items():
                if key == "calibrate" and "--draw" in sys.argv[1:]:
                    run(f"show {M} held-out-orders.csv --out orders.html --limit 6")
                    draw(Path("orders.html").resolve())
                said[key] = run(words, talk=talk)
            head = Path("orders.csv").read_text().splitlines()[:4]
            said["head"] = "\n".join(head) + "\n"
        finally:
            os.chdir(here)
    said["train"] = "".join(
        f"{line}\n" for line in said["train"].splitlines() if line.startswith(("Note", "Read"))
    )
    new = MARKED.sub(
        lambda mark: f"{mark['begin']}```text\n{said[mark['name']]}```\n{mark['end']}", PAGE.read_text()
    )
    PAGE.write_text(new)


if __name__ == "__main__":
    main()
