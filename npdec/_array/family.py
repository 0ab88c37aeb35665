"""Which arrays look at the same memory.

An array that owns its memory and its views share one list of weak references to each other. Values alias through
torch's own storage; the list is needed when the array turns into a decomposed one (or gains labels) because
decomposed elements were written into it or into one of its views: then every one of them has to.
"""

from __future__ import annotations

from weakref import ref

from npdec._core.base import NDArrayBase

__all__ = ["Family", "alive", "family_of"]


def alive(members: list[ref[NDArrayBase]]) -> list[ref[NDArrayBase]]:
    """The references whose arrays live."""
    return [member for member in members if member() is not None]


class Family(list["ref[NDArrayBase]"]):
    """Weak references to the arrays over one storage; dead ones are dropped when it has doubled.

    It has when it is longer than `most`. `frozen` says that one of them is read-only, so that a view has to look
    whether its source is. `limit` is `most`, but then, and for copies that stand for views, negative, so that one
    comparison of lengths tells it all. `mixed` says that beside decomposed ones there are views of other dtypes, which
    cannot carry their contributions.
    """

    __slots__ = ("frozen", "limit", "mirrors", "mixed", "most", "origin")

    def __init__(self) -> None:  # the list is empty as it is
        self.limit = self.most = 64
        self.frozen = self.mixed = False
        # Copies that stand for views that torch cannot make: they are brought up to date after every write. What nobody
        # holds any more goes at once, as writes are slower while there are some.
        self.mirrors: list[ref[NDArrayBase]] = []
        # If this is the family of such a copy: the copy, from which a write goes on to the array it stands for.
        self.origin: ref[NDArrayBase] | None = None

    def prune(self) -> None:
        if len(self) > self.most:
            self[1:] = alive(self[1:])  # the owner stays first
            self.most = max(64, 2 * len(self))
        self.limit = -1 if self.frozen or self.origin is not None else self.most

    def living(self) -> list[NDArrayBase]:
        return [array for member in self if (array := member()) is not None]

    def led_by(self, array: NDArrayBase) -> NDArrayBase:
        """The array, the last that came in, which stands for an owner that nobody holds any more: while it lives, it is
        the same one for all views."""
        if self[-1]() is array:
            self.insert(0, self.pop())
        return array

    def shut(self) -> None:
        """Shut the windows to single elements (`npdec._array.elements`): a tensor gets a graph, or is given away."""
        for array in self.living():
            if hasattr(array, "_w"):
                del array._w


def family_of(array: NDArrayBase) -> Family:
    """The family of the array, made if it has none."""
    family = getattr(array, "_m", None)
    if family is None:
        family = array._m = Family()
        family.append(ref(array))
    return family
