"""What processes that belong together ask of the operating system and of each other."""

import ctypes
import mmap
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_stopping = mmap.mmap(-1, 1)
"""One byte that a process shares with the children it forks."""


def ask_to_stop() -> None:
    """Tell this process's forked children to finish what they do and take nothing new."""
    _stopping[0] = 1


def is_asked_to_stop() -> bool:
    """Whether the worker that this process belongs to is ending: loops give back what they hold."""
    return _stopping[0] != 0


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def end_with_parent(parent: int, signal_number: int = signal.SIGTERM) -> None:
    """Have the kernel send this process the signal when `parent` dies; at once if it is gone already. Linux only, else nothing.

    Not inherited by children, so each process that wants it calls it.
    """
    _prctl(_PR_SET_PDEATHSIG, signal_number)
    if sys.platform == "linux" and os.getppid() != parent:
        os.kill(os.getpid(), signal_number)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent dies, so that none is left behind unseen. Linux only, else nothing."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
