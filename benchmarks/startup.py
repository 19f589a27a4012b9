"""Start-up: `import structlearn` and `structlearn --help`, against a bare interpreter.

python benchmarks/startup.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from common import best_of, machine


def main():
    command = str(Path(sys.executable).with_name("structlearn"))
    bare = best_of(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
    package = best_of(lambda: subprocess.run([sys.executable, "-c", "import structlearn"], check=True))
    shown = best_of(lambda: subprocess.run([command, "--help"], check=True, stdout=subprocess.DEVNULL))
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}")
    print(f"python -c pass       {bare:.3f} s")
    print(f"import structlearn   {package:.3f} s (target 0.3)")
    print(f"structlearn --help   {shown:.3f} s (target 0.5)")


if __name__ == "__main__":
    main()
