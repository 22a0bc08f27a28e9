"""Somebody's server that takes webhooks: it remembers what it got, and answers as it is told.

    with Receiver() as receiver:
        …  # receiver.url is "http://127.0.0.1:<port>/hook"
        receiver.received[0].headers["webhook-id"]

`fault(asked, number)` answers in place of 200, as for the other stand-ins.
"""

from tests.standins.http import Reply, Request, StandIn


class Receiver(StandIn):
    servers = ("hook",)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports[0]}/hook"

    @property
    def received(self) -> list[Request]:
        """What arrived, as it arrived."""
        return [asked.request for asked in self.asked]

    def reply(self, server: str, request: Request) -> Reply:
        return Reply(200, b"taken", {"Content-Type": "text/plain"})
