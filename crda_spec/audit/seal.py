"""The seal of a record: hashes that tell whether `record.json` itself was changed after it was written.

`sha256` covers all that depends on spec, data and versions alone, the hashes of all other files included, so equal runs
have equal seals: it is the one number to note down. The volatile part has a seal of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crda_spec.audit.canonical import canonical_json, sha256_of


def content_seal(record: Mapping[str, Any]) -> str:
    """The hash of a record without its volatile part."""
    return sha256_of(
        canonical_json({name: part for name, part in record.items() if name not in ("sha256", "volatile")})
    )


def volatile_seal(volatile: Mapping[str, Any]) -> str:
    """The hash of the volatile part."""
    return sha256_of(canonical_json({name: part for name, part in volatile.items() if name != "sha256"}))


def sealed(record: Mapping[str, Any], volatile: Mapping[str, Any]) -> dict[str, Any]:
    """The whole record, ready to be written."""
    return {
        **record,
        "sha256": content_seal(record),
        "volatile": {**volatile, "sha256": volatile_seal(volatile)},
    }
