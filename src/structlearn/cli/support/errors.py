"""A user's mistake is one sentence on stderr and an exit code, never a traceback.

Here is the only door to stderr: whatever is said goes out as one line without control characters, of at most
500 characters, with parameters named as the shell names them.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import warnings
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from types import FrameType

import typer

from structlearn.cli.support.flags import said_by
from structlearn.cli.support.stdin import by_its_name, forget_stdin
from structlearn.core.errors import OracleError
from structlearn.core.extras import MissingExtraError
from structlearn.core.imports import after_import
from structlearn.core.progress import one_command
from structlearn.core.wording import plain

MISUSE = 2
FAILURE = 1
INTERRUPTED = 130
#: What goes wrong with the machine rather than with the request.
_FAILURES = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE),
    errno.ECHILD,  # a process of ours ended early
}

NO_MODEL = "Interrupted before there was a model: nothing was written."
#: What a Ctrl-C that nothing has answered leaves behind.
STOPPED = "Interrupted. No file is half written: each is whole, or as it was."

#: What scikit-learn says of labels that may be numbers, and what it means in the shell.
_OF_SKLEARN = "The number of unique classes is greater than 50%"
_MANY_CLASSES = "There are more than half as many classes as examples; the task regress predicts numbers."

_told: list[int] = []
_noted: set[str] = set()


def tell_interruption() -> None:
    """Say that a Ctrl-C ended the command, unless that has been said."""
    if INTERRUPTED not in _told:
        say(STOPPED)
    _told.clear()


def say(sentence: str) -> None:
    """Write a line of talk to stderr, wherever its text comes from."""
    typer.echo(plain(by_its_name(sentence)), err=True)


def say_once(sentence: str) -> None:
    """Say something that is worth knowing, once in a command."""
    if sentence not in _noted:
        _noted.add(sentence)
        say(f"Note: {sentence}")


def hear(signum: int, frame: FrameType | None) -> None:
    """Answer a Ctrl-C while a command runs (as Python does, but by our own function.

    See `stop_listening`).
    """
    if _is_called_by_kernel(frame):
        again_soon()
        return
    raise KeyboardInterrupt


def again_soon() -> None:
    """Let Ctrl-C come again a little later, where nothing can be raised now."""
    threading.Timer(0.01, interrupt_main).start()


def _is_called_by_kernel(frame: FrameType | None) -> bool:
    """Whether compiled code makes a record that it returns: it goes on, and crashes, without one."""
    if frame is None:
        return False
    made = str(frame.f_globals.get("__name__")).startswith("namedtuple_")  # where `collections` makes them
    return made or any(one.f_code.co_name == "_numba_unpickle" for one in islice(_frames(frame), 6))


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def stop_listening() -> None:
    """Ignore further Ctrl-C: the command is ending anyhow, and a traceback would be its last word."""
    if signal.getsignal(signal.SIGINT) is hear:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def handling_errors() -> Iterator[None]:
    """Turn the library's refusals into a sentence and an exit code (as a decorator, of a whole command).

    Misuse and bad input (ValueError, TypeError, OSError) exit with 2, failures (memory, a full disk, answers
    that are not maximal) with 1, and so does a closed pipe, silently; Ctrl-C with 130. Other exceptions are
    bugs and keep their traceback.
    """
    try:
        with _warnings_as_lines(), one_command():
            yield
        sys.stdout.flush()
    except KeyboardInterrupt as error:
        stop_listening()
        _told.append(INTERRUPTED)
        say(str(error) or STOPPED)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        _leave_stdout()
        raise typer.Exit(FAILURE) from None
    except MemoryError as error:
        raise _exit(f"Out of memory. {_sentence(error)}".strip(), FAILURE) from error
    except OSError as error:
        raise _exit(_sentence(error), FAILURE if error.errno in _FAILURES else MISUSE) from error
    except MissingExtraError as error:
        raise _exit(str(error), FAILURE) from error
    except OracleError as error:
        raise _exit(_sentence(error), FAILURE) from error
    except (ValueError, TypeError) as error:
        raise _exit(_sentence(error), MISUSE) from error
    finally:
        forget_stdin()
        _noted.clear()


def misuse(sentence: str) -> typer.Exit:
    """Say what is wrong with a command; returns what ends it."""
    return _exit(sentence, MISUSE)


def _exit(sentence: str, code: int) -> typer.Exit:
    say(f"Error: {sentence}")
    return typer.Exit(code)


def _sentence(error: BaseException) -> str:
    """Return what went wrong, in the words of the shell."""
    if isinstance(error, OSError) and error.strerror:
        named = f"{error.filename}: " if error.filename else ""
        return f"{named}{error.strerror}."
    return said_by(error) or ("" if isinstance(error, MemoryError) else type(error).__name__)


def _leave_stdout() -> None:
    """Send what is still buffered nowhere: the interpreter flushes at its end (see SIGPIPE in its docs)."""
    with suppress(OSError, ValueError):  # stdout is no file: nothing is flushed at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Show each warning, whoever warns, as a sentence on stderr instead of as lines of code, and once."""
    shown = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        said = said_by(message) if isinstance(message, Warning) else message
        sentence = _MANY_CLASSES if said.startswith(_OF_SKLEARN) else said
        if sentence not in shown:
            shown.add(sentence)
            say(f"Warning: {sentence}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _always_show_convergence() -> None:
    from sklearn.exceptions import ConvergenceWarning

    warnings.simplefilter("always", ConvergenceWarning)


@contextmanager
def fitting() -> Iterator[None]:
    """Show every warning about convergence; a Ctrl-C that `fit` does not answer leaves no model."""
    try:
        with warnings.catch_warnings(), ExitStack() as end:
            end.callback(after_import("sklearn.exceptions", _always_show_convergence))
            yield
    except KeyboardInterrupt:  # while compiling or reading; later, `fit` returns the best model so far
        raise KeyboardInterrupt(NO_MODEL) from None
