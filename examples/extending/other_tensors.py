"""Other types with `__torch_function__` meet a decomposed tensor, under torch's rules of precedence.

    python examples/extending/other_tensors.py

torch asks the types of the arguments from left to right, subclasses before their bases; the first that does not return
NotImplemented answers. A decomposed tensor leaves types that are no tensors to answer.
"""

import torch

import npdec as np

x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
d = np.decompose(x, labels=["a", "b", "c"])


class Diagonal:
    """A number times the identity matrix, which knows two functions."""

    def __init__(self, value, size):
        self.dense = lambda: value * torch.eye(size, dtype=torch.float64)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in (torch.add, torch.matmul):
            return NotImplemented
        return func(*[a.dense() if isinstance(a, cls) else a for a in args], **(kwargs or {}))


class Named:
    """A tensor with a note, which is handed on."""

    def __init__(self, data, note):
        self.data, self.note = data, note

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        notes = [a.note for a in args if isinstance(a, cls)]
        plain = [a.data if isinstance(a, cls) else a for a in args]
        return cls(func(*plain, **(kwargs or {})), " and ".join(notes))


class Logging(torch.Tensor):
    """A tensor that notes what is done with it."""

    seen: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


# The matrix answers, with what a decomposed tensor does in a product.
made = torch.matmul(Diagonal(2.0, 3), d)
print("2 I @ d:", made.components.diagonal())
assert torch.equal(made.components, 2 * torch.diag(x))
assert torch.equal(torch.add(d, Diagonal(5.0, 3)).value, x + 5 * torch.eye(3))  # also where it comes second

# What neither knows is an error, and names both.
refused = ""
try:
    torch.mul(Diagonal(2.0, 3), d)
except TypeError as error:
    refused = str(error)
print("mul:", refused.splitlines()[0])
assert "Diagonal" in refused and "DecomposedTensor" in refused  # noqa: PT018

# A wrapper hands its note on, and the contributions within it.
made = torch.exp(torch.mul(Named(d, "measured"), Named(x, "assumed")))
print(f"noted {made.note!r}:", made.data.components.diagonal())
assert torch.allclose(made.data.components, torch.diag(torch.exp(x * x) - 1))

# A subclass of tensors sees the call, does not know DecomposedTensor, and leaves it the answer.
made = torch.mul(x.as_subclass(Logging), d)
print("logged:", Logging.seen[:1])
assert Logging.seen[0] == "mul"
assert type(made) is np.DecomposedTensor
assert torch.equal(made.components.as_subclass(torch.Tensor), torch.diag(x * x))
