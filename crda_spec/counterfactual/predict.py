"""Prediction: the outcome of a changed row, the abducted noise held fixed."""

from __future__ import annotations

from crda_spec.records import Abduction, Action, Counterfactuals, Predictor


def predict_outcome(
    g: Predictor, action: Action, abduction: Abduction, *, retention: float, weight: float
) -> Counterfactuals:
    """Y' = g(x') + retention * z, z the noise of the row that x' came from."""
    prediction = g.predict(action.x)
    noise = abduction.noise[action.source]
    return Counterfactuals(
        action=action,
        prediction=prediction,
        noise=noise,
        retention=retention,
        y=prediction + retention * noise,
        weight=weight,
    )
