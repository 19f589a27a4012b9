"""An engine whose workers live in this process, and can be lost at any call."""

from structlearn.distributed import Lost


class Here:
    """Workers that are plain objects. `lose(number, name)` decides before each call whether it is lost."""

    def __init__(self, size=2, lose=lambda number, name: False):
        self.size = size
        self.lose = lose
        self.make, self.objects = [], {}
        self.revived = []

    def open(self, make):
        self.make = list(make)
        self.objects = {number: one() for number, one in enumerate(make)}

    def call(self, name, arguments):
        return {number: self._one(number, name, values) for number, values in arguments.items()}

    def _one(self, number, name, values):
        if number in self.objects and self.lose(number, name):
            del self.objects[number]
        if number not in self.objects:
            return Lost("killed")
        return getattr(self.objects[number], name)(*values)

    def revive(self, number):
        self.revived.append(number)
        self.objects[number] = self.make[number]()
