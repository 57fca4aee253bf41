"""TabDDPM: a diffusion model of rows, outcome included, in a few lines of torch."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.augmenters.generators import Generator
from crda_spec.records import Array
from crda_spec.strict import Positive

if TYPE_CHECKING:
    from torch import Tensor

_EMBEDDED = 128  # numbers that tell the network how far the diffusion is
_FARTHEST = 5.0  # that a clean number, which is a normal quantile, may be


class TabDdpm(Generator):
    """Kotelnikov et al. 2023, "TabDDPM: modelling tabular data with diffusion models".

    Gaussian diffusion of numbers (brought to a normal distribution by their ranks, the outcome one of them) and
    multinomial diffusion of labels, one network for both, a cosine schedule. Written anew, and smaller: labels are
    learnt by the cross-entropy of the clean label, in place of the variational bound.
    """

    kind: Literal["tab_ddpm"] = Field("tab_ddpm", description="Rows from a diffusion model.")
    learning_rate: Positive = Field(1e-3, le=1, description="Of AdamW; it falls to 0 along a line.")
    batch_size: int = Field(4096, ge=1, le=1_000_000, description="Rows of a batch.")
    timesteps: int = Field(1000, ge=2, le=100_000, description="Steps of the diffusion.")
    iterations: int = Field(1000, ge=1, le=1_000_000, description="Steps of the training.")
    layers: int = Field(2, ge=1, le=100, description="Hidden layers of the network.")
    width: int = Field(256, ge=1, le=65_536, description="Units of each.")
    dropout: float = Field(0.0, ge=0, lt=1, description="The part of the units that is left out in a step.")

    package: ClassVar[str] = "torch"

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return "drawn by a diffusion model (TabDDPM)"

    def draw(self, rows: Array, labels: tuple[int, ...], count: int, *, rng: np.random.Generator) -> Array:
        """See `Generator.draw`."""
        import torch

        numbers = [at for at in range(rows.shape[1]) if at not in labels]
        codes = [np.unique(rows[:, at], return_inverse=True) for at in labels]
        normal = torch.tensor(np.column_stack([to_normal(rows[:, at]) for at in numbers]), dtype=torch.float32)
        with torch.random.fork_rng(devices=[]):  # the process's own random state stays as it is
            torch.manual_seed(int(rng.integers(2**63 - 1)))
            diffusion = _Diffusion(
                self, normal, [torch.tensor(places) for _, places in codes], [len(known) for known, _ in codes]
            )
            diffusion.train()
            drawn, picked = diffusion.sample(count)
        made = np.empty((count, rows.shape[1]))
        for column, at in enumerate(numbers):
            made[:, at] = from_normal(drawn[:, column].numpy().astype(np.float64), rows[:, at])
        for (known, _), place, at in zip(codes, picked, labels, strict=True):
            made[:, at] = known[place.numpy()]
        return made


def to_normal(values: Array) -> Array:
    """(n,) normal quantiles of the values' ranks; equal values get equal ones."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return np.asarray(ndtri((rankdata(values) - 0.5) / len(values)), dtype=np.float64)


def from_normal(drawn: Array, values: Array) -> Array:
    """(m,) back to the column's own unit, between its least and its greatest value."""
    order = np.sort(values)
    known = np.sort(to_normal(values))
    return np.asarray(np.interp(drawn, known, order), dtype=np.float64)


class _Diffusion:
    """A network that takes noise out of rows, and the schedule by which it was put in."""

    def __init__(self, spec: TabDdpm, normal: Tensor, labels: list[Tensor], sizes: list[int]) -> None:
        """normal: (n, k) numbers.  labels: each (n,) places among so many labels as sizes says."""
        import torch
        from torch import nn

        self.spec, self.normal, self.labels, self.sizes = spec, normal, labels, sizes
        steps = torch.arange(spec.timesteps + 1, dtype=torch.float64) / spec.timesteps
        curve = torch.cos((steps + 0.008) / 1.008 * math.pi / 2.0) ** 2  # Nichol and Dhariwal 2021
        self.stays = 1.0 - torch.clamp(1.0 - curve[1:] / curve[:-1], max=0.999).to(torch.float32)  # in each step
        self.kept = torch.cumprod(self.stays, dim=0)  # of the clean signal, after each step
        cells, inner = normal.shape[1] + sum(sizes), [_EMBEDDED, *[spec.width] * spec.layers]
        layers = [
            nn.Sequential(nn.Linear(into, out), nn.ReLU(), nn.Dropout(spec.dropout))
            for into, out in itertools.pairwise(inner)
        ]
        self.enter = nn.Linear(cells, _EMBEDDED)
        self.clock = nn.Sequential(nn.Linear(_EMBEDDED, _EMBEDDED), nn.SiLU(), nn.Linear(_EMBEDDED, _EMBEDDED))
        self.body = nn.Sequential(*layers, nn.Linear(inner[-1], cells))
        self.network = nn.ModuleList([self.enter, self.clock, self.body])

    def train(self) -> None:
        """Squared error of the noise in numbers, cross-entropy of the clean labels."""
        import torch
        from torch.nn import functional

        spec, rate = self.spec, self.spec.learning_rate
        descent = torch.optim.AdamW(self.network.parameters(), lr=rate, weight_decay=1e-4)
        for step in range(spec.iterations):
            descent.param_groups[0]["lr"] = rate * (1.0 - step / spec.iterations)
            rows = torch.randperm(len(self.normal))[: spec.batch_size]
            time = torch.randint(0, spec.timesteps, (len(rows),))
            signal = self.kept[time, None]
            clean, codes = self.normal[rows], [one[rows] for one in self.labels]
            noise = torch.randn_like(clean)
            states = [
                torch.where(torch.rand(len(rows)) < signal[:, 0], one, torch.randint(0, size, (len(rows),)))
                for one, size in zip(codes, self.sizes, strict=True)
            ]
            guess, odds = self._guess(torch.sqrt(signal) * clean + torch.sqrt(1.0 - signal) * noise, states, time)
            loss = ((guess - noise) ** 2).mean()
            for one, code in zip(odds, codes, strict=True):
                loss = loss + functional.cross_entropy(one, code) / len(codes)
            descent.zero_grad()
            loss.backward()
            descent.step()
        self.network.eval()

    def _guess(self, x: Tensor, states: list[Tensor], time: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The noise in the numbers (m, k), and the log-odds (m, size) of the clean labels."""
        import torch
        from torch.nn import functional

        half = _EMBEDDED // 2
        speed = torch.exp(-math.log(10_000.0) * torch.arange(half) / half)
        angle = 1000.0 * time[:, None] / self.spec.timesteps * speed
        coded = [functional.one_hot(one, size) for one, size in zip(states, self.sizes, strict=True)]
        told = self.enter(torch.cat([x, *coded], dim=1)) + self.clock(torch.cat([angle.cos(), angle.sin()], dim=1))
        noise, *odds = torch.split(self.body(told), [x.shape[1], *self.sizes], dim=1)
        return noise, odds

    def sample(self, count: int) -> tuple[Tensor, list[Tensor]]:
        """(count, k) numbers and, of each labels' column, (count,) places."""
        import torch
        from torch.nn import functional

        x = torch.randn((count, self.normal.shape[1]))
        states = [torch.randint(0, size, (count,)) for size in self.sizes]
        with torch.no_grad():
            for step in reversed(range(self.spec.timesteps)):
                stays, kept = self.stays[step], self.kept[step]
                before = self.kept[step - 1] if step else torch.tensor(1.0)
                noise, odds = self._guess(x, states, torch.full((count,), step))
                clean = torch.clamp((x - torch.sqrt(1.0 - kept) * noise) / torch.sqrt(kept), -_FARTHEST, _FARTHEST)
                mean = torch.sqrt(before) * (1.0 - stays) * clean + torch.sqrt(stays) * (1.0 - before) * x
                spread = torch.sqrt((1.0 - stays) * (1.0 - before) / (1.0 - kept))
                x = mean / (1.0 - kept) + spread * torch.randn_like(x)
                for at, size in enumerate(self.sizes):
                    now = stays * functional.one_hot(states[at], size) + (1.0 - stays) / size
                    likely = now * (before * torch.softmax(odds[at], dim=1) + (1.0 - before) / size)
                    states[at] = torch.multinomial(likely, 1)[:, 0]
        return x, states
