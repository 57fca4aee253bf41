"""Generators of whole rows, outcome included, from the package `ctgan`: TVAE and CTGAN."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from crda_spec.counterfactual.augmenters._protocol import BaseAugmenter, Given, NewRows
from crda_spec.records import Array
from crda_spec.strict import NonNegative, Positive

FEWEST = 10  # complete rows, below which there is no distribution to learn

Sizes = tuple[int, ...]


class Generator(BaseAugmenter):
    """Learns the joint distribution of features and outcome, and draws rows from it. Rows with a gap are not used."""

    learns: ClassVar[bool] = True
    streams: ClassVar[bool] = False
    trains: ClassVar[bool] = True

    @abstractmethod
    def draw(self, rows: Array, labels: tuple[int, ...], count: int, *, rng: np.random.Generator) -> Array:
        """(count, k) new rows like these (n, k). labels: positions of the columns that hold codes, not numbers."""

    def make(self, given: Given, count: int, *, rng: np.random.Generator) -> NewRows:
        """See `BaseAugmenter.make`."""
        train = given.train
        rows = np.column_stack([train.x, train.y])
        rows = rows[~np.isnan(rows).any(axis=1)]
        if len(rows) < FEWEST or not count:
            return NewRows(x=train.x[:0], label=np.empty(0), source=None)
        labels = tuple(sorted(set(range(len(train.features))) - set(given.numbers)))
        with one_thread():
            made = self.draw(rows, labels, count, rng=rng)
        return NewRows(x=made[:, :-1], label=made[:, -1], source=None)


class one_thread:  # noqa: N801 - reads as what it does
    """Torch on one thread: the same bits on any machine, and no fight between workers."""

    def __enter__(self) -> None:
        import torch

        self._before = torch.get_num_threads()
        torch.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        import torch

        torch.set_num_threads(self._before)


class _FromPackage(Generator):
    """A model of the package `ctgan`, which is under the Business Source License 1.1."""

    package: ClassVar[str] = "ctgan"

    batch_size: int = Field(500, ge=10, le=100_000, description="Rows of a batch.")
    embedding_dim: int = Field(128, ge=1, le=4096, description="The size of the latent space.")
    epochs: int = Field(300, ge=1, le=10_000, description="Passes over the rows; the package's default.")

    @abstractmethod
    def model(self) -> Any:  # noqa: ANN401 - of a package that need not be there
        """The package's model, not fitted."""

    def draw(self, rows: Array, labels: tuple[int, ...], count: int, *, rng: np.random.Generator) -> Array:
        """See `Generator.draw`."""
        import warnings

        import pandas as pd

        names = [f"c{at}" for at in range(rows.shape[1])]
        frame = pd.DataFrame({name: rows[:, at] for at, name in enumerate(names)})
        discrete = [names[at] for at in labels]
        frame[discrete] = frame[discrete].astype(np.int64)
        model = self.model()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of mixtures that have not converged, and of libraries' futures
            model.set_random_state(int(rng.integers(2**31)))
            model.fit(frame, discrete_columns=discrete)
            made = model.sample(count)
        return np.asarray(made[names].to_numpy(dtype=np.float64))


class Tvae(_FromPackage):
    """Xu et al. 2019, "Modeling tabular data using conditional GAN": their variational autoencoder."""

    kind: Literal["tvae"] = Field("tvae", description="Rows from a variational autoencoder (package ctgan).")
    compress_dims: Sizes = Field((128, 128), min_length=1, description="Layers of the encoder.")
    decompress_dims: Sizes = Field((128, 128), min_length=1, description="Layers of the decoder.")
    l2scale: NonNegative = Field(1e-5, le=1, description="The L2 penalty.")
    loss_factor: Positive = Field(2.0, le=1000, description="How much reconstruction counts.")

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return "drawn by a variational autoencoder (TVAE)"

    def model(self) -> Any:  # noqa: ANN401
        """See `_FromPackage.model`."""
        from ctgan import TVAE

        return TVAE(
            embedding_dim=self.embedding_dim,
            compress_dims=self.compress_dims,
            decompress_dims=self.decompress_dims,
            l2scale=self.l2scale,
            batch_size=self.batch_size,
            epochs=self.epochs,
            loss_factor=self.loss_factor,
            enable_gpu=False,
        )


class Ctgan(_FromPackage):
    """Xu et al. 2019, "Modeling tabular data using conditional GAN"."""

    kind: Literal["ctgan"] = Field("ctgan", description="Rows from a generative adversarial network (package ctgan).")
    generator_dim: Sizes = Field((256, 256), min_length=1, description="Layers of the generator.")
    discriminator_dim: Sizes = Field((256, 256), min_length=1, description="Layers of the discriminator.")
    learning_rate: Positive = Field(2e-4, le=1, description="Of both networks.")
    decay: NonNegative = Field(1e-6, le=1, description="Weight decay of both networks.")
    pac: int = Field(10, ge=1, le=100, description="Rows that the discriminator judges together; divides batch_size.")

    def describe(self) -> str:
        """See `BaseAugmenter.describe`."""
        return "drawn by a generative adversarial network (CTGAN)"

    def model(self) -> Any:  # noqa: ANN401
        """See `_FromPackage.model`."""
        from ctgan import CTGAN

        return CTGAN(
            embedding_dim=self.embedding_dim,
            generator_dim=self.generator_dim,
            discriminator_dim=self.discriminator_dim,
            generator_lr=self.learning_rate,
            generator_decay=self.decay,
            discriminator_lr=self.learning_rate,
            discriminator_decay=self.decay,
            batch_size=self.batch_size,
            epochs=self.epochs,
            pac=self.pac,
            enable_gpu=False,
        )
