"""A page, read."""

from html.parser import HTMLParser
from itertools import pairwise

VOID = ("meta", "img", "source", "br", "link")


class Reader(HTMLParser):
    """The elements of a page with their attributes, and its text; all that is opened must be closed."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def attributes(self, name, tag=None):
        """The values of an attribute, in their order."""
        return [found[name] for kind, found in self.elements if name in found and tag in (None, kind)]

    def definitions(self):
        """What stands under each term of the page's lists."""
        told = [text for text in self.texts if text.strip()]
        return dict(pairwise(told))
