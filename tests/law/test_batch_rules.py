"""Linear functions of one tensor that leave leading axes alone: each component goes where torch puts it, under whatever
name and in whatever namespace the function has its rule."""

import itertools
import warnings

import torch

import npdec as np
from npdec._decomposed.registry import rows

np.decompose(np.ones(1)) * 2  # the rules are entered with the first call
FUNCTIONS = {
    f"{getattr(f, '__qualname__', f)}-{i}": f for i, (f, row) in enumerate(rows.items()) if row.batch is not None
}
SHAPES = [(), (3,), (3, 3), (4, 4, 4), (2, 4, 4, 4)]
ARGUMENTS = [
    (), (0,), (1,), (-1,), (2,), (0, 1), (1, 0), (-1, -2), ((0, 1),), ((1, 0),), (0, 1, 2), (1, 0, 2), (0, 2, 1),
    (2, 2, 2), ((2, 3, 4),),
]  # fmt: skip


def parts_of(made):
    return list(made) if isinstance(made, (tuple, list)) else [made]


def test_components_go_where_the_value_goes():
    generator, checked = torch.Generator().manual_seed(0), set()
    for (name, function), shape, dtype in itertools.product(
        FUNCTIONS.items(), SHAPES, (torch.float64, torch.complex128)
    ):
        components = torch.randn(2, *shape, generator=generator, dtype=dtype)
        residual = torch.randn(shape, generator=generator, dtype=dtype)
        t = np.DecomposedTensor(residual + components.sum(0), residual, components, ("a", "b"))
        for arguments in ARGUMENTS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # torch's, of transposes of scalars
                try:
                    wanted = [parts_of(function(one, *arguments)) for one in (t.value, residual, *components)]
                except (RuntimeError, IndexError, TypeError):
                    continue
                made = parts_of(function(t, *arguments))
            for i, part in enumerate(made):
                value, base, *each = [one[i] for one in wanted]
                said = f"{name} {shape} {arguments}"
                assert torch.equal(part.value, value), said
                assert torch.equal(part.residual, base), said
                for found, one in zip(part.components, each, strict=True):
                    torch.testing.assert_close(found, one, rtol=1e-12, atol=1e-12, msg=said)
            checked.add(name)
    assert len(checked) > 0.8 * len(FUNCTIONS)
