"""Is a run's folder what a run wrote, and do its numbers follow from each other? One file for each thing looked at."""

from crda_spec.audit.verify.checks import (
    Check,
    Finding,
    Tolerance,
    check_files,
    check_record,
    checked,
    read_record,
    skipped,
)
from crda_spec.audit.verify.losses import check_losses
from crda_spec.audit.verify.rows import Ledger, check_cells, check_labels, check_made_rows, check_real_rows, read_ledger
from crda_spec.audit.verify.source import check_folders, check_model, check_source
from crda_spec.audit.verify.verdict import (
    certificate_again,
    check_certificate,
    check_ensemble,
    check_ensemble_models,
    check_folds,
    check_score,
    check_verdict,
    has_ensemble,
    rejudged,
)

__all__ = [
    "Check",
    "Finding",
    "Ledger",
    "Tolerance",
    "certificate_again",
    "check_cells",
    "check_certificate",
    "check_ensemble",
    "check_ensemble_models",
    "check_files",
    "check_folders",
    "check_folds",
    "check_labels",
    "check_losses",
    "check_made_rows",
    "check_model",
    "check_real_rows",
    "check_record",
    "check_score",
    "check_source",
    "check_verdict",
    "checked",
    "has_ensemble",
    "read_ledger",
    "read_record",
    "rejudged",
    "skipped",
]
