"""The least HTTP/1.1 server that a stand-in needs: it keeps connections, and can also break every rule it keeps."""

import asyncio
import ssl
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Self

import orjson


@dataclass(slots=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Reply:
    """What is sent. A body that is no bytes goes as JSON. `drop` closes without a byte; `cut` sends only so many bytes of the body and
    closes; `raw` is sent in place of everything else. `delay` is in seconds, `drip` the seconds between single bytes of all that is sent,
    and `hold` false leaves out the server's own latency.
    """

    status: int = 200
    body: object = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0
    hold: bool = True
    drop: bool = False
    cut: int | None = None
    raw: bytes | None = None


class Connection(asyncio.Protocol):
    """One client's connection; its requests are answered one after another."""

    def __init__(self, answer: Callable[[Request], Awaitable[Reply]], connections: set["Connection"]) -> None:
        self.answer = answer
        self.connections = connections
        self.received = bytearray()
        self.waiting: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.connections.discard(self)
        if self.waiting is not None:
            self.waiting.cancel()

    def data_received(self, data: bytes) -> None:
        self.received += data
        if self.waiting is None:
            self._next()

    def _next(self) -> None:
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return
        first, *lines = self.received[:end].decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        if len(self.received) < end + 4 + length:
            return
        method, path, _ = first.split(" ", 2)
        body = bytes(self.received[end + 4 : end + 4 + length])
        del self.received[: end + 4 + length]
        self.waiting = asyncio.get_running_loop().create_task(self._serve(Request(method, path, headers, body)))

    async def _serve(self, request: Request) -> None:
        reply = await self.answer(request)
        self.waiting = None
        if self.transport.is_closing():
            return
        if reply.drop:
            self.transport.abort()
        elif reply.raw is not None:
            self.transport.write(reply.raw)
            self.transport.close()
        else:
            body = (
                reply.body
                if isinstance(reply.body, bytes)
                else reply.body.encode()
                if isinstance(reply.body, str)
                else orjson.dumps(reply.body)
            )
            headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **reply.headers}
            head = f"HTTP/1.1 {reply.status} -\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
            sent = head.encode("latin-1") + body[: reply.cut]
            for byte in sent if reply.drip else b"":
                if self.transport.is_closing():
                    return
                self.transport.write(bytes((byte,)))
                await asyncio.sleep(reply.drip)
            self.transport.write(b"" if reply.drip else sent)
            if reply.cut is not None:
                self.transport.close()
            else:
                self._next()


class Threaded(ABC):
    """Serves from a loop in a thread of its own while it is entered."""

    @abstractmethod
    async def serve(self, listening: Callable[[], None]) -> None:
        """Serve until stopped; `listening` is called when the ports are known."""

    def __enter__(self) -> Self:
        started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(started,), name=type(self).__name__, daemon=True)
        self._thread.start()
        started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self.stop)
        self._thread.join(10)

    def stop(self) -> None:
        """End `serve`, from its own loop."""
        self._stop.set()

    def _run(self, started: threading.Event) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self.serve(started.set))

    async def _listen(self, connect: list[Callable[[], Connection]], port: int, tls: ssl.SSLContext | None) -> list[asyncio.Server]:
        """A listener on loopback for each way to connect, the first on this port, where it is not 0, the others on free ones."""
        self._stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        ports = [port, *[0] * (len(connect) - 1)]
        return [
            await loop.create_server(each, "127.0.0.1", number, backlog=1024, ssl=tls) for each, number in zip(connect, ports, strict=True)
        ]

    async def _until_stopped(self, servers: list[asyncio.Server], connections: set[Connection]) -> None:
        await self._stop.wait()
        for server in servers:
            server.close()
        for connection in list(connections):
            connection.transport.abort()


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: which of a stand-in's servers got it, and what it held."""

    server: str
    request: Request

    @property
    def path(self) -> str:
        return self.request.path

    @property
    def authorization(self) -> str | None:
        return self.request.headers.get("authorization")


type Fault = Callable[[Asked, int], Reply | None]
"""What is sent in place of the answer to a request, which is the n-th of its address; None answers as usual."""


class StandIn(Threaded):
    """Several servers that belong together, each on a port of its own, which remember what they were asked."""

    servers: ClassVar[tuple[str, ...]]

    def __init__(self, fault: Fault | None = None, *, tls: ssl.SSLContext | None = None) -> None:
        self.fault = fault
        self.tls = tls
        self.asked: list[Asked] = []
        self.ports = [0] * len(self.servers)
        self._connections: set[Connection] = set()

    @abstractmethod
    def reply(self, server: str, request: Request) -> Reply:
        """The usual answer of one of the servers."""

    async def serve(self, listening: Callable[[], None]) -> None:
        listeners = await self._listen([partial(self._connection, name) for name in self.servers], 0, self.tls)
        self.ports = [each.sockets[0].getsockname()[1] for each in listeners]
        listening()
        await self._until_stopped(listeners, self._connections)

    def _connection(self, server: str) -> Connection:
        return Connection(partial(self._answer, server), self._connections)

    async def _answer(self, server: str, request: Request) -> Reply:
        asked = Asked(server, request)
        self.asked.append(asked)
        number = sum(1 for each in self.asked if each.server == server and each.path == request.path)
        reply = (self.fault(asked, number) if self.fault else None) or self.reply(server, request)
        if reply.delay:
            await asyncio.sleep(reply.delay)
        return reply
