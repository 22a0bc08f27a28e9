"""A queue of files for one machine: kombu's file-system transport with messages that appear and are taken whole.

Kombu opens a message's file under its final name and then writes it, so a reader may find it empty, and its worker ends; and it moves
messages to the system's temporary folder, which may be another file system, where moving is copying. Here a message is written under
a hidden name and renamed, and taken by renaming it within its folder, which only one reader can do.
"""

import os
import uuid
from contextlib import suppress
from pathlib import Path
from queue import Empty
from time import time_ns
from typing import Any

from kombu.transport import filesystem
from kombu.utils.json import dumps, loads


class Channel(filesystem.Channel):
    """Messages are `<time>_<id>.<queue>.msg`; hidden files, which begin with a dot, are being written or read."""

    def _put(self, queue: str, message: dict[str, Any], **_kwargs: Any) -> None:  # type: ignore[override]
        folder, name = Path(self.data_folder_out), f"{time_ns() // 1000}_{uuid.uuid4().hex}.{queue}.msg"
        hidden = folder / f".{name}"
        hidden.write_text(dumps(message), encoding="utf-8")
        hidden.rename(folder / name)

    def _get(self, queue: str, *_args: Any, **_kwargs: Any) -> Any:
        """The oldest message of the queue, which is gone from the folder then. Raises Empty. One that cannot be read is dropped."""
        ending = f"{queue}.msg"
        for name in sorted(name for name in os.listdir(self.data_folder_in) if name.partition(".")[2] == ending):  # noqa: PTH208
            taken = Path(self.data_folder_in) / f".{name}"
            with suppress(FileNotFoundError):  # another reader was faster
                (Path(self.data_folder_in) / name).rename(taken)
                text = taken.read_text(encoding="utf-8")
                taken.unlink()
                with suppress(ValueError):
                    return loads(text)
        raise Empty


class Transport(filesystem.Transport):
    Channel = Channel
