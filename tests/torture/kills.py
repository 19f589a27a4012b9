"""Processes ended at random moments: what they write is whole or not there, and training goes on from it.

`run(seed)` starts a command, ends it by a signal at a random moment, and looks at what is on the disk.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from structlearn.alignment.aligner import Aligner
from structlearn.data import open_packed
from structlearn.estimators.files.persistence import load_bundle
from torture import bases
from torture.children import in_a_child

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_TRAINED = "--tol 0 --max-passes 400 --regularization 1e-4"


def run(seed):
    """A process that is ended: a label, and what is wrong with what it left (None if nothing is)."""
    rng = random.Random(seed)
    work = Path(tempfile.mkdtemp(prefix="k"))
    try:
        scenario = rng.choices((_outputs, _checkpoints, _kernels), (6, 3, 1))[0]
        return scenario(rng, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


# ---- outputs ---------------------------------------------------------------------------------------


def _weights(path):
    return load_bundle(path).estimator.weights_.tobytes()


def _statistics(path):
    return Aligner.load(path).statistics_.lexicon.target.tobytes()


def _packed(path):
    data = open_packed(path)
    return [data.X.data.tobytes(), list(map(str, data.y)), sorted(os.listdir(path))]


#: a command that writes {w}/out, and what of it is the same however often it is written
OUTPUTS = (
    (f"train classify {{b}}/classes.libsvm --out {{w}}/out {_TRAINED}", _weights),
    ("train tag {b}/words.txt --out {w}/out --max-passes 3", _weights),
    ("train match {b}/pairs.npz --out {w}/out --max-passes 3", _weights),
    ("train regress {b}/numbers.csv --out {w}/out", _weights),
    ("align train --src {b}/text.en --tgt {b}/text.fr --out {w}/out", _statistics),
    ("predict {b}/tag.st {b}/words.txt --out {w}/out", Path.read_bytes),
    ("show {b}/parse.st {b}/words.conllu --out {w}/out", Path.read_bytes),
    ("align apply {b}/align.st --src {b}/text.en --tgt {b}/text.fr --out {w}/out", Path.read_bytes),
    ("data pack classify {b}/classes.libsvm --out {w}/out", _packed),
)


@cache
def _reference(command, content):
    """What a command writes when it is left alone, how long it takes, and the file itself."""
    kept = Path(tempfile.mkdtemp(prefix="k", dir=bases.folder()))
    for _ in range(2):  # the first time it may compile
        shutil.rmtree(kept / "out", ignore_errors=True)
        begin = time.monotonic()
        found = in_a_child(_filled(command, kept))
        seconds = time.monotonic() - begin
    if found.get("code"):
        raise RuntimeError(f"{command}: {found}")
    return content(kept / "out"), seconds, kept / "out"


def _filled(command, work):
    return command.format(b=bases.folder(), w=work).split()


def _outputs(rng, work):
    """A new file or folder, or a file in the place of an old one."""
    command, content = rng.choice(OUTPUTS)
    label = f"outputs / {' '.join(command.split()[:2])}"
    whole, seconds, file = _reference(command, content)
    old = rng.random() < 0.5 and file.is_file()
    if old:
        (work / "out").write_bytes(b"old")
    sent = rng.choice(SIGNALS)
    found = in_a_child(_filled(command, work), _ending(rng, sent, seconds, work))
    wrong = _ill_ended(found, sent)
    if wrong is None and not (work / "out").exists():
        wrong = "the old file is gone" if old else None
    elif wrong is None and not (old and (work / "out").read_bytes() == b"old"):
        wrong = _compared(content, work / "out", whole, sent)
    return label, wrong and f"{wrong} (signal {sent.name})"


def _ending(rng, sent, seconds, work):
    """What sends a signal at a random moment of a run that takes so long, or soon after it has written."""
    wait, writes = rng.uniform(0, 1.1 * seconds), rng.choice((0, 0, 1, 1, 2, 3))

    def end(child):
        deadline = time.monotonic() + 1.1 * seconds
        for _ in range(writes):
            before = _stamps(work)
            while _stamps(work) == before and time.monotonic() < deadline:
                pass
        time.sleep(wait / 1000 if writes else wait)
        os.kill(child, sent)

    return end


def _stamps(work):
    """Which files there are, how large and how old."""
    found = set()
    with suppress(FileNotFoundError):  # it came and went
        for path in work.rglob("*"):
            known = path.stat()
            found.add((path, known.st_size, known.st_mtime_ns))
    return found


def _ill_ended(found, sent):
    """How a process ended that it should not have; None if it ended well."""
    if found.get("died") in (f"of {sent.name}", "with 0"):  # in the middle, or after the last of its words
        return "Ctrl-C killed it" if found["died"] == "of SIGINT" else None
    if "died" in found:
        return f"the process died {found['died']}"
    if found["error"]:
        return f"traceback {found['error']}"
    if found["code"] not in ((0, 130) if sent == signal.SIGINT else (0,)):
        return f"exit {found['code']} | {found['stderr'][-300:]!r}"
    return None


def _compared(content, path, whole, sent):
    try:
        same = content(path) == whole
    except Exception as error:
        return f"a broken file: {error!r}"
    # Ctrl-C ends training early: the model is another, but it is a model.
    early = sent == signal.SIGINT and content in (_weights, _statistics)
    return None if same or early else "another content"


# ---- checkpoints -----------------------------------------------------------------------------------

_KEPT = "--tol 0 --checkpoint {w}/kept --checkpoint-seconds 0 --resume --out {w}/out"
CHECKPOINTS = (
    f"train classify {{b}}/classes.libsvm --max-passes 300 --regularization 1e-4 {_KEPT}",
    f"train classify {{b}}/classes.libsvm --max-passes 100 --loss softmax {_KEPT}",
    f"train tag {{b}}/words.txt --max-passes 40 --regularization 1e-3 {_KEPT}",
    f"train match {{b}}/pairs.npz --max-passes 60 --regularization 1e-3 {_KEPT}",
)


def _checkpoints(rng, work):
    """A training that is ended up to three times and then goes on to its end: the same weights."""
    command = rng.choice(CHECKPOINTS)
    label = f"checkpoints / {' '.join(command.split()[:2])}"
    whole, seconds, _ = _reference(command, _weights)
    for _ in range(rng.randint(1, 3)):
        sent = rng.choice(SIGNALS)
        wrong = _ill_ended(in_a_child(_filled(command, work), _ending(rng, sent, seconds, work)), sent)
        if wrong:
            return label, f"{wrong} (signal {sent.name})"
    found = in_a_child(_filled(command, work))
    if found.get("code") != 0:
        return label, f"did not go on: {found}"
    return label, _compared(_weights, work / "out", whole, signal.SIGKILL)


# ---- compiled kernels ------------------------------------------------------------------------------

_COMPILED = (
    "import numpy as np; from structlearn.structures.flat.sparsemax import sparsemax; z = np.empty(4);"
    "sparsemax(np.array([0.0, 1.0, 1.5, -2.0]), z); print(*z.tolist())"
)
_ANSWER = "0.0 0.25 0.75 0.0"


def _kernels(rng, work):
    """Compilation that is ended while it writes to its cache, which may then be damaged: the next works."""
    label, cached = "kernels / compile", work / "cache"
    with _compiling(cached) as process:
        time.sleep(rng.uniform(0.5, 4.0))
        process.send_signal(rng.choice(SIGNALS[:3]))
        process.communicate()
    files = sorted(path for path in cached.rglob("*") if path.is_file())
    if files and rng.random() < 0.5:
        path = rng.choice(files)
        data = path.read_bytes()
        path.write_bytes(rng.choice((data[: rng.randrange(len(data) + 1)], bytes(len(data)), b"")))
    for _ in range(2):
        with _compiling(cached) as process:
            out, err = process.communicate()
        if process.returncode or out.strip() != _ANSWER:
            return label, f"exit {process.returncode}: {out!r} {err[-300:]!r}"
    return label, None


def _compiling(cached):
    pipe = subprocess.PIPE
    environment = {**os.environ, "STRUCTLEARN_CACHE": str(cached), "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", _COMPILED], stdout=pipe, stderr=pipe, text=True, env=environment
    )
