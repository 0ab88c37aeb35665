"""Pieces of work that do not interact, shared out over the ranks of a device mesh.

Which pieces there are does not depend on the mesh: a rank computes every n-th of those that one process computes one
after the other, and all ranks are given all results, in their order. So the bits are those of one process.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import torch

from npdec.attribution._bits import Layout, digest, joined, layout_of, parted

__all__ = ["Ranks", "shared"]

T = TypeVar("T")
Result = Sequence[Any]  # tensors, and what is sent as it is: None, a boolean


def shared(
    ranks: Ranks | None,
    items: Iterable[T],
    run: Callable[[T], Result],
    *,
    at_once: bool = True,
    seeded: bool = False,
    spare: Callable[[T], Result] | None = None,
    seen: Callable[[T], Any] | None = None,
) -> Iterator[Result]:
    """`run` of each item, in order. On a mesh the ranks share the items, and give each other the results when
    all are done, or with `at_once` false after each has run one. `seeded`: each run begins with the same random
    numbers, by itself. `spare`: what a rank does for which no item is left, in place of `run`, whose effects are
    wanted once. `seen`: what has to be the same of each item on all ranks."""
    return map(run, items) if ranks is None else ranks.shared(items, run, at_once, seeded, spare or run, seen)


class Ranks:
    """The processes of a mesh of one dimension, of which this is one. Raises TypeError for what is no mesh, ValueError
    for one of several dimensions, and where this process is not in it. `what`: the function that was called; `device`:
    where results are wanted before this rank has had one of its own."""

    def __init__(self, what: str, mesh: Any, device: torch.device) -> None:
        from torch.distributed.device_mesh import DeviceMesh

        if not isinstance(mesh, DeviceMesh):
            raise TypeError(
                f"{what}: mesh is a DeviceMesh, which torch.distributed.device_mesh.init_device_mesh makes, not "
                f"{type(mesh).__name__}"
            )
        if mesh.ndim != 1:
            names = mesh.mesh_dim_names or ()
            said = f"mesh[{names[0]!r}]" if names else "name its dimensions (mesh_dim_names), and give mesh[name]"
            raise ValueError(
                f"{what}: work is shared over a mesh of one dimension, not of {mesh.ndim}: choose one, {said}"
            )
        if mesh.get_coordinate() is None:
            raise ValueError(f"{what}: this process is not in the mesh")
        self.what = what
        self.rank: int = mesh.get_local_rank()
        self.count: int = mesh.size()
        self._group = mesh.get_group()
        # Bytes travel through the memory of the device for which the group was made.
        on_gpu = mesh.device_type == "cuda"
        self._place = device
        self._device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device(mesh.device_type)

    def shared(
        self,
        items: Iterable[T],
        run: Callable[[T], Result],
        at_once: bool,
        seeded: bool,
        spare: Callable[[T], Result],
        seen: Callable[[T], Any] | None,
    ) -> Iterator[Result]:
        """As the function `shared`. All ranks work equally often, on another's item where there is none of their own:
        a network that is sharded itself (FSDP) is called on all ranks or on none. Raises what `run` raises, and
        RuntimeError where it failed on another rank, or a rank was lost: then no rank gives any more results."""
        left = iter(items)
        more = True
        while more:
            drawn, made, failed = 0, [], None
            common: list[T] = []  # the first item of those on which the ranks work now
            signs: list[Any] = []
            try:
                for item in left if at_once else itertools.islice(left, self.count):
                    place = drawn % self.count
                    if not place:
                        common = [item]
                    if seen is not None:
                        signs.append(seen(item))
                    if place == self.rank:
                        made.append(run(item) if seeded else self._undrawn(run, item))
                    drawn += 1
                if 0 < drawn % self.count <= self.rank:
                    spare(common[0]) if seeded else self._undrawn(spare, common[0])
            except Exception as error:  # all ranks are told, and raise
                failed = error
            yield from self._exchanged((drawn, signs), made, failed)
            more = not at_once and drawn == self.count

    def _undrawn(self, run: Callable[[T], Result], item: T) -> Result:
        before = torch.random.get_rng_state()
        found = run(item)
        if not torch.equal(before, torch.random.get_rng_state()):
            raise ValueError(
                f"{self.what}: the function draws random numbers, and on a mesh each rank would draw others than one "
                "process does: make it give the same each time (a network in evaluation mode), or leave mesh="
            )
        return found

    def _exchanged(self, work: tuple[int, list[Any]], made: list[Result], failed: Exception | None) -> Iterator[Result]:
        own = [part for row in made for part in row if isinstance(part, torch.Tensor)]
        self._place = own[0].device if own else self._place
        layouts = [[layout_of(part) if isinstance(part, torch.Tensor) else part for part in row] for row in made]
        said = None if failed is None else f"{type(failed).__name__}: {failed}"
        headers: list[tuple[Any, str | None, list[list[Any]]]] = self._all((work, said, layouts))
        if failed is not None:
            raise failed
        for rank, (_, error, _) in enumerate(headers):
            if error is not None:
                raise RuntimeError(f"{self.what}: rank {rank} failed, and no rank returns anything: {error}")
        for rank, (theirs, _, _) in enumerate(headers):
            if theirs != headers[0][0]:
                raise ValueError(
                    f"{self.what}: rank {rank} has other work than rank 0: call it with the same arguments, and the "
                    "same weights, on all ranks of the mesh (a loader that shuffles needs the same seed)"
                )
        found = []
        for rank, (_, _, rows) in enumerate(headers):
            flat = [layout for row in rows for layout in row if isinstance(layout, Layout)]
            size = sum(layout.nbytes for layout in flat)
            if rank == self.rank:
                raw = joined(own, self._device)
            else:
                raw = torch.empty(size, dtype=torch.uint8, device=self._device)
            if size:
                self._told(functools.partial(torch.distributed.broadcast, raw, group=self._group, group_src=rank))
            parts = iter(parted(raw, flat, self._place))
            found.append([[next(parts) if isinstance(part, Layout) else part for part in row] for row in rows])
        for k in range(work[0]):
            yield found[k % self.count][k // self.count]

    def agree(self, name: str, *given: Any) -> None:
        """Raise ValueError unless all ranks were given the same. Tensors are compared bit for bit."""
        tensors = [each for each in given if isinstance(each, torch.Tensor)]
        others = [repr(each) for each in given if not isinstance(each, torch.Tensor)]
        seen = self._all((digest(tensors), others))
        for rank, one in enumerate(seen):
            if one != seen[0]:
                raise ValueError(
                    f"{self.what}: {name} of rank {rank} are not those of rank 0: call it with the same arguments, and "
                    "the same weights, on all ranks of the mesh"
                )

    def share_random_state(self) -> None:
        """Let all ranks go on with the random numbers of rank 0."""
        state = torch.random.get_rng_state().to(self._device)
        self._told(functools.partial(torch.distributed.broadcast, state, group=self._group, group_src=0))
        torch.random.set_rng_state(state.cpu())

    def _all(self, item: T) -> list[T]:
        found: list[Any] = [None] * self.count
        self._told(functools.partial(torch.distributed.all_gather_object, found, item, group=self._group))
        return found

    def _told(self, collective: Callable[[], Any]) -> None:
        try:
            collective()
        except RuntimeError as error:  # of the network, and where the time of the group is up
            raise RuntimeError(
                f"{self.what}: rank {self.rank} of {self.count} lost the others: one of them ended, or took longer "
                "than the timeout of the process group. Nothing is returned on any rank: start all of them again"
            ) from error
