"""A page's HTML as a person reads it: its elements, and the words that are seen or spoken."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"])
SPOKEN = ("aria-label", "aria-roledescription", "alt", "placeholder", "title")
"""Attributes whose words people hear or see."""


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    parent: "Element | None" = None
    inside: "list[Element | str]" = field(default_factory=list)

    def has(self, name: str) -> bool:
        """Whether it is of this class."""
        return name in self.attributes.get("class", "").split()

    def above(self) -> "Iterator[Element]":
        """Itself, then what it is in, outward."""
        at: Element | None = self
        while at is not None:
            yield at
            at = at.parent

    def all(self, *tags: str) -> "Iterator[Element]":
        """The elements inside, of these tags, in the order of the page."""
        for each in self.inside:
            if isinstance(each, Element):
                if not tags or each.tag in tags:
                    yield each
                yield from each.all(*tags)

    def pieces(self) -> "Iterator[tuple[Element, str]]":
        """Each stretch of text with the element it stands in, and the spoken attributes."""
        for name in SPOKEN:
            if self.attributes.get(name, "").strip():
                yield self, self.attributes[name]
        for each in self.inside:
            if isinstance(each, Element):
                yield from each.pieces()
            elif each.strip():
                yield self, " ".join(each.split())

    @property
    def text(self) -> str:
        """Its words alone, in one line."""
        parts = [each if isinstance(each, str) else f" {each.text} " for each in self.inside]
        return " ".join("".join(parts).split())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self.at = Element("", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, {name: value or "" for name, value in attrs}, self.at)
        self.at.inside.append(made)
        if tag not in VOID:
            self.at = made

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.at.inside.append(Element(tag, {name: value or "" for name, value in attrs}, self.at))

    def handle_endtag(self, tag: str) -> None:
        for each in self.at.above():
            if each.tag == tag and each.parent is not None:
                self.at = each.parent
                return

    def handle_data(self, data: str) -> None:
        self.at.inside.append(data)


def read(html: str) -> Element:
    """The page as a tree. End tags that are left out are not filled in: the house's templates write them all."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.root
