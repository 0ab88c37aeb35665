"""A DataLoader makes batches of decomposed tensors, in worker processes as well.

python examples/extending/batches.py
"""

import torch
from torch.utils.data import DataLoader, Dataset, default_collate

import npdec as np


class Houses(Dataset):
    """Each item: the features of a house, decomposed by feature against an ordinary one, and its price."""

    names = ("rooms", "area", "age")
    ordinary = torch.tensor([3.0, 80.0, 40.0])

    def __init__(self, count):
        generator = torch.Generator().manual_seed(0)
        self.features = self.ordinary * (0.5 + torch.rand(count, 3, generator=generator))
        self.prices = self.features @ torch.tensor([20.0, 3.0, -1.0])

    def __len__(self):
        return len(self.features)

    def __getitem__(self, i):
        return {
            "features": np.decompose(self.features[i], baseline=self.ordinary, labels=self.names),
            "price": self.prices[i],
        }


def main():
    houses = Houses(6)
    model = torch.nn.Linear(3, 1, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[20.0, 3.0, -1.0]]))

    # Components of one label belong together in a batch.
    batch = default_collate([houses[0], houses[1]])["features"]
    print("a batch:", tuple(batch.shape), "components:", tuple(batch.components.shape), batch.labels)
    assert batch.labels == houses.names
    assert torch.equal(batch.components[0, :, 0], houses.features[:2, 0] - 3)
    assert not batch.components[0, :, 1:].any()

    for workers in (0, 1):
        found = []
        for batch in DataLoader(houses, batch_size=4, num_workers=workers):
            made = model(batch["features"])
            assert torch.allclose(made.value[:, 0], batch["price"])
            found.append(made.components[..., 0].detach())
        found = torch.cat(found, 1)
        # What each feature adds to the price of the ordinary house: its change times its price.
        expected = (houses.features - houses.ordinary) * torch.tensor([20.0, 3.0, -1.0])
        assert torch.allclose(found.T, expected, atol=1e-3)
    for name, part in zip(houses.names, found):
        print(f"{name:>6}:", [round(p) for p in part.tolist()])


if __name__ == "__main__":
    main()
