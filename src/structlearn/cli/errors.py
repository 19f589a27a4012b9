"""A user's mistake is one sentence on stderr and an exit code, never a traceback."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer

MISUSE = 2
FAILURE = 1
INTERRUPTED = 130
#: What goes wrong with the machine rather than with the request.
_FAILURES = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE),
    errno.ECHILD,  # a process of ours ended early
}


def say(sentence: str) -> None:
    """Talk: a line on stderr."""
    typer.echo(sentence, err=True)


@contextmanager
def manners() -> Iterator[None]:
    """Turn the library's refusals into a sentence and an exit code (as a decorator, of a whole command).

    Misuse and bad input (ValueError, TypeError, OSError) exit with 2, failures (memory, a full disk) with 1,
    and so does a closed pipe, silently. Other exceptions are bugs: they keep their traceback.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_stdout()
        raise typer.Exit(FAILURE) from None
    except MemoryError as error:
        raise _exit(f"Out of memory. {_sentence(error)}".strip(), FAILURE) from error
    except OSError as error:
        raise _exit(_sentence(error), FAILURE if error.errno in _FAILURES else MISUSE) from error
    except (ValueError, TypeError) as error:
        raise _exit(_sentence(error), MISUSE) from error


def _exit(sentence: str, code: int) -> typer.Exit:
    say(f"Error: {sentence}")
    return typer.Exit(code)


def _sentence(error: BaseException) -> str:
    """The message in one line."""
    if isinstance(error, OSError) and error.strerror:
        named = f"{error.filename}: " if error.filename else ""
        return f"{named}{error.strerror}."
    text = " ".join(str(error).split())
    return text or ("" if isinstance(error, MemoryError) else type(error).__name__)


def _leave_stdout() -> None:
    """Send what is still buffered nowhere: the interpreter flushes at its end (see SIGPIPE in its docs)."""
    with suppress(OSError, ValueError):  # stdout is no file: nothing is flushed at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show each warning as a plain sentence on stderr, and every one about convergence."""
    from sklearn.exceptions import ConvergenceWarning

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        say(f"Warning: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.showwarning = show
        yield
