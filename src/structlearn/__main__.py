"""`python -m structlearn` is the command `structlearn`, and what the script of that name runs."""

import sys

from structlearn.core.extras import MissingExtraError


def main() -> None:
    """Run the command line, or say what is missing for it."""
    try:
        from structlearn.cli import main as run
    except MissingExtraError as error:
        sys.exit(f"Error: {error}")
    run()


if __name__ == "__main__":
    main()
