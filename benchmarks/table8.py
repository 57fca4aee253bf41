"""The paper's Table 8: do the features that its filters reject tell more about the residual than the selected ones?

    CRDA_DATA_DIR=/folder/of/tables python benchmarks/table8.py [--quick]

For each of the nine tables and each seed: XGBoost on 80 % of the rows (settings fixed, where the paper tuned them), the
residual of those rows, the paper's filters (PC, then |r| >= 0.1 or p <= 0.05), and the mean mutual information (KSG, 3
neighbours, in nats) of selected and rejected features with the residual. The paper does not say which residual it
took; we show the in-sample one (`fit`) and the out-of-fold one (`out`), because the in-sample residual of a flexible
regressor hides what it has already fitted. Beside them, on the out-of-fold residual: how many features each of our
screens lets pass, and the joint check's p-value for the features that the paper's filters select (median over seeds).

Keys, for each table: `mi_selected_<residual>_<table>`, `mi_rejected_<residual>_<table>`, `ratio_<residual>_<table>`,
`passed_<screen>_<table>` and `joint_p_<table>`. A figure is null where no seed had a feature to average over.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import numpy as np
from _harness import arguments, publish, say
from sklearn.model_selection import KFold, cross_val_predict
from xgboost import XGBRegressor

from crda_spec.discovery.skeleton import neighbours
from crda_spec.independence import Distance, Hsic, JointCheck, Pearson, Screen, Spearman, correlation_matrix
from crda_spec.independence.dependence import nearest_neighbour_information
from crda_spec.records import Array
from crda_spec.seeds import integer_seed, stream

# slug: (file, the paper's name, its mutual information of selected and of rejected features, its ratio)
TABLES = {
    "house": ("HousePrice.csv", "House Price", 0.0056, 0.0155, 2.75),
    "energy": ("EnergyEfficiency.csv", "Energy Efficiency", 0.0054, 0.0160, 2.94),
    "parkinsons": ("ParkinsonsTelemonitoring.csv", "Parkinson's Monitoring", 0.0054, 0.0103, 1.92),
    "synthetic": ("623_fri_c4_1000_10.csv", "Synthetic Regression", 0.0073, 0.0136, 1.85),
    "concrete": ("ConcreteCompressiveStrength.csv", "Concrete Strength", 0.0203, 0.0320, 1.58),
    "cpu": ("227_cpu_small.csv", "CPU Performance", 0.0136, 0.0144, 1.06),
    "wine": ("WineQuality.csv", "Wine Quality", 0.0110, 0.0136, 1.23),
    "wind": ("503_wind.csv", "Wind Power", 0.0065, 0.0084, 1.29),
    "satellite": ("294_satellite_image.csv", "Satellite Image", 0.1031, 0.1149, 1.11),
}
SCREENS: tuple[Screen, ...] = (Pearson(), Spearman(), Distance(), Hsic())


def residuals(x: Array, y: Array, seed: int) -> dict[str, Array]:
    """In-sample and out-of-fold residuals of the same regressor."""
    model = XGBRegressor(n_estimators=200, max_depth=4, learning_rate=0.08, subsample=0.8, n_jobs=1, random_state=seed)
    folds = KFold(5, shuffle=True, random_state=seed)
    return {"fit": y - model.fit(x, y).predict(x), "out": y - cross_val_predict(model, x, y, cv=folds)}


def selected(x: Array, z: Array) -> np.ndarray:
    """The paper's two filters."""
    matrix, n = correlation_matrix(np.column_stack([x, z]))
    screen = Pearson()(x, z)
    passed = (np.abs(screen.statistic) < 0.1) & (screen.p_value > 0.05)
    passed[list(neighbours(matrix, n, x.shape[1], alpha=0.05).linked)] = False
    return passed


def information(x: Array, z: Array, which: np.ndarray) -> float:
    """The mean over these features, negative estimates counted as 0; NaN when there is none."""
    found = [max(0.0, nearest_neighbour_information(x[:, j], z, 3)) for j in np.flatnonzero(which) if np.ptp(x[:, j])]
    return float(np.mean(found)) if found else float("nan")


def run(data: Array, seed: int) -> dict[str, float]:
    """One seed of one table."""
    rows = stream(seed, "table8").permutation(len(data))[: int(0.8 * len(data))]
    x, y = data[rows, :-1], data[rows, -1]
    figures: dict[str, float] = {}
    for kind, z in residuals(x, y, integer_seed(seed, "table8")).items():
        chosen = selected(x, z)
        figures[f"mi_selected_{kind}"] = information(x, z, chosen)
        figures[f"mi_rejected_{kind}"] = information(x, z, ~chosen)
        if kind == "out":
            for screen in SCREENS:
                result = screen(x, z, rng=stream(seed, "table8-screen"))
                figures[f"passed_{screen.kind}"] = float((result.p_value > 0.05).sum())
            joint = JointCheck()(x[:, chosen], x[:, ~chosen], z, rng=stream(seed, "table8-joint"))
            figures["joint_p"] = joint.joint_p_value if chosen.any() else float("nan")
    return figures


def summary(runs: list[dict[str, float]]) -> dict[str, float | None]:
    """Means over the seeds that have a figure; the median of p-values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a mean over no seed is NaN, and null in the result
        means = {key: float(np.nanmean([run[key] for run in runs])) for key in runs[0]}
        means["joint_p"] = float(np.nanmedian([run["joint_p"] for run in runs]))
    for kind in ("fit", "out"):
        means[f"ratio_{kind}"] = means[f"mi_rejected_{kind}"] / (means[f"mi_selected_{kind}"] or float("nan"))
    return {key: float(f"{value:.4g}") if np.isfinite(value) else None for key, value in means.items()}


def _cell(number: float | None) -> str:
    return "-" if number is None else f"{number:.4f}"


def main() -> None:
    """Measures, prints and keeps."""
    quick = arguments(__doc__ or "").quick
    folder = Path(os.environ.get("CRDA_DATA_DIR", ""))
    figures: dict[str, float | None] = {}
    head = f"{'table':24s}{'paper sel':>10s}{'rej':>8s}{'fit sel':>10s}{'rej':>8s}{'out sel':>10s}{'rej':>8s}"
    sys.stdout.write(f"{head}   passed by {', '.join(screen.kind for screen in SCREENS)}; joint p\n")
    for slug, (file, name, paper_selected, paper_rejected, paper_ratio) in TABLES.items():
        if not (folder / file).is_file():
            say(f"{name}: skipped, {file} is not in the folder that CRDA_DATA_DIR names")
            continue
        data = np.loadtxt(folder / file, delimiter=",", skiprows=1)
        data = data[stream(0, "table8-rows").permutation(len(data))[:400]] if quick else data
        found = summary([run(data, seed) for seed in range(1 if quick else 15)])
        shown = [paper_selected, paper_rejected]
        shown += [found[f"mi_{side}_{kind}"] for kind in ("fit", "out") for side in ("selected", "rejected")]
        cells = "".join(f"{_cell(number):>{(10, 8)[at % 2]}s}" for at, number in enumerate(shown))
        passed = " ".join(f"{found[f'passed_{screen.kind}']:g}" for screen in SCREENS)
        sys.stdout.write(f"{name:24s}{cells}   {passed} of {data.shape[1] - 1}; {found['joint_p']}\n")
        sys.stdout.flush()
        figures |= {f"{key}_{slug}": value for key, value in found.items()}
        figures[f"paper_ratio_{slug}"] = paper_ratio
    publish("table8", figures, quick=quick)


if __name__ == "__main__":
    main()
