"""One file of the UAI format, solved by toulbar2: `python toulbar2_peer.py FILE.uai.gz SECONDS OUT.MAP`.

It runs in an environment of its own, which has pytoulbar2 (`python benchmarks/uai.py --toulbar2 PYTHON`), and
writes the best labelling found, and prints the CPU seconds of its search.
"""

import gzip
import sys
import tempfile
import time
from pathlib import Path

import pytoulbar2


def main(file: str, seconds: str, out: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "problem.uai"
        whole.write_bytes(gzip.decompress(Path(file).read_bytes()))
        problem = pytoulbar2.CFN(resolution=7)
        problem.Read(str(whole))
        begin = time.process_time()
        found = problem.Solve(timeLimit=int(seconds))
        print("cpu_seconds", time.process_time() - begin)
    if found is not None:
        states = [int(state) for state in found[0]]
        Path(out).write_text(f"MAP\n{len(states)} {' '.join(map(str, states))}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
