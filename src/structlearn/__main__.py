"""`python -m structlearn` is the command `structlearn`."""

from structlearn.cli import main

main()
