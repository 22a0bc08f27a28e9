"""The queue of files: messages appear whole, and each is taken once."""

from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from threading import Thread

import pytest
from kombu import Connection

from common.filequeue import Channel


@pytest.fixture
def channel(tmp_path: Path) -> Iterator[Channel]:
    yield from open_channel(tmp_path)


def open_channel(folder: Path) -> Iterator[Channel]:
    options = {"data_folder_in": str(folder), "data_folder_out": str(folder), "control_folder": str(folder / "control")}
    with Connection("filesystem://localhost", transport="common.filequeue:Transport", transport_options=options) as connection:
        yield connection.default_channel


def test_messages_come_out_in_the_order_they_went_in(channel: Channel) -> None:
    for number in range(20):
        channel._put("work", {"number": number})
    channel._put("other", {"number": 99})
    assert [channel._get("work")["number"] for _ in range(20)] == list(range(20))
    with pytest.raises(Empty):
        channel._get("work")
    assert channel._get("other") == {"number": 99}


def test_message_that_is_being_written_is_not_seen(channel: Channel, tmp_path: Path) -> None:
    (tmp_path / ".1_a.work.msg").write_text("")
    with pytest.raises(Empty):
        channel._get("work")


def test_message_that_cannot_be_read_is_dropped(channel: Channel, tmp_path: Path) -> None:
    (tmp_path / "0_a.work.msg").write_text("{")
    channel._put("work", {"number": 1})
    assert channel._get("work") == {"number": 1}
    assert [path.name for path in tmp_path.glob("*.msg")] == []


def test_each_message_is_taken_once_by_readers_at_the_same_time(tmp_path: Path) -> None:
    """Four readers against a writer: nothing is lost, doubled or half read."""
    taken: list[int] = []
    expected = 400

    def write() -> None:
        for channel in open_channel(tmp_path):
            for number in range(expected):
                channel._put("work", {"number": number, "padding": "x" * 2_000})

    def read() -> None:
        for channel in open_channel(tmp_path):
            while len(taken) < expected:
                try:
                    taken.append(channel._get("work")["number"])
                except Empty:
                    continue

    threads = [Thread(target=write), *(Thread(target=read) for _ in range(4))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(taken) == list(range(expected))
