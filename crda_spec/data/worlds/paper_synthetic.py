"""The synthetic world of the paper: Y = X1^2 + X2 X3 + Z."""

from __future__ import annotations

from crda_spec.data.worlds._declared import DeclaredWorld

PAPER_SYNTHETIC = DeclaredWorld(
    name="paper_synthetic",
    description=(
        "The paper's data-generating process, Y = X1^2 + X2 X3 + Z with Z independent of X1, X2 and X3. "
        "Perturbable: all three features, because nothing but chance makes Z. Not perturbable: none. "
        "The paper does not say how the features are spread; here they are uniform on [-2, 2], and Z is normal with "
        "a standard deviation of 0.5, so that about a thirteenth of the variance of Y is noise."
    ),
    target="y",
    equations={
        "x1": "uniform(-2, 2)",
        "x2": "uniform(-2, 2)",
        "x3": "uniform(-2, 2)",
        "y": "x1 ** 2 + x2 * x3 + normal(0, 0.5)",
    },
    units={},
)
