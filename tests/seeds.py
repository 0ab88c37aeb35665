"""Seeds of random generators, without `torch.manual_seed`: for each kind of device that is not in use yet, that keeps a
traceback of who called it, for ever, and takes longer over it than most tests take for all they do."""

from __future__ import annotations

import random

import numpy
import torch


def seed(number: int) -> None:
    """Seed torch's generators."""
    torch.default_generator.manual_seed(number)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(number)


def seed_all(number: int | None = None) -> None:
    """Seed the generators of torch, Python and NumPy, as torch's tests do before each sample of an operator."""
    number = 1234 if number is None else number
    seed(number)
    random.seed(number)
    numpy.random.seed(number)
