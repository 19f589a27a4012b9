"""What an installation must be able to do, tried in an empty environment: `python packaging/smoke.py`."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import structlearn
from structlearn import BinaryClassifier, ChainClassifier, Tagger
from structlearn.alignment.corpus import load_corpus
from structlearn.data import make_chains


def main() -> None:
    """Fit, save, load and predict; the corpus and the templates that come with the package; the shell."""
    with tempfile.TemporaryDirectory() as folder:
        X, y = make_chains(20, 5, 3, 4, random_state=0)
        model = ChainClassifier(tol=0.01, random_state=0).fit(X, y)
        assert model.certificate_.converged
        model.save(Path(folder) / "model.safetensors")
        again = structlearn.load(Path(folder) / "model.safetensors")
        assert all(np.array_equal(a, b) for a, b in zip(model.predict(X), again.predict(X)))
        BinaryClassifier(random_state=0).fit(np.eye(4), [0, 0, 1, 1])
        Tagger(random_state=0).fit([["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]])
        assert len(load_corpus()) > 200
        shell = [sys.executable, "-m", "structlearn"]
        (Path(folder) / "words.txt").write_text("the D\ncat N\n\na D\ndog N\n\n")
        out = str(Path(folder) / "tagger.safetensors")
        subprocess.run([*shell, "train", "tag", str(Path(folder) / "words.txt"), "--out", out], check=True)
        page = str(Path(folder) / "page.html")
        subprocess.run([*shell, "show", out, str(Path(folder) / "words.txt"), "--out", page], check=True)
    print(f"structlearn {structlearn.__version__} works here.")


if __name__ == "__main__":
    main()
