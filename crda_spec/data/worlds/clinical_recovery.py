"""Recovery of patients whose severity nobody recorded, although the doctor who set the dose saw it."""

from __future__ import annotations

from crda_spec.data.worlds._declared import DeclaredWorld

CLINICAL_RECOVERY = DeclaredWorld(
    name="clinical_recovery",
    description=(
        "A recovery score of patients in rehabilitation. The doctor gives severe cases a higher dose, and severity "
        "also slows recovery; it is not in the table, so it confounds the dose (dose <- severity -> recovery): the "
        "drug helps, yet patients on high doses recover less. Perturbable: therapy_hours, age, comorbidities and bmi, "
        "which have nothing to do with severity. Not perturbable: dose, because a changed dose with an unchanged "
        "residual would describe a patient who does not exist."
    ),
    target="recovery",
    equations={
        "severity": "normal(0, 1)",
        "age": "uniform(20, 85)",
        "bmi": "lognormal(3.28, 0.14)",
        "comorbidities": "poisson(0.2 + 0.02 * age)",
        "therapy_hours": "uniform(1, 12)",
        "dose": "lognormal(3.6 + 0.3 * severity, 0.2)",
        "recovery": (
            "40 + 32 * (1 - exp(-therapy_hours / 5)) + 25 * (1 - exp(-dose / 40)) - 8 * severity"
            " - 0.004 * (age - 20) ** 2 - 2.5 * comorbidities - 0.04 * (bmi - 25) ** 2 + normal(0, 2.5)"
        ),
    },
    hidden=("severity",),
    units={
        "age": "years",
        "bmi": "kg/m2",
        "therapy_hours": "hours/week",
        "dose": "mg/day",
        "recovery": "points",
    },
)
