"""Locks between the processes of one machine, by files; the operating system frees them when their holder dies."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def first_free_lock(directory: Path, name: str, count: int) -> Iterator[bool]:
    """Hold one of `count` locks of that name for the block; False where all are held by others."""
    directory.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        with (directory / f"{name}-{number}.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield True
            return
    yield False
