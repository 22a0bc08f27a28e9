"""The least HTTP/1.1 server that a stand-in needs: it keeps connections, and can also break every rule it keeps."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

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
