"""`python -m tests.torture`, by the name that its processes import it by, as pytest does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from torture.runner import main

if __name__ == "__main__":
    sys.exit(main())
