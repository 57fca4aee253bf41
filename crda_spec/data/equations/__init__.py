"""Structural equations as text: a small, closed expression language.

`tree` says what an equation is made of, `parse` reads it (no numpy: `crda-spec validate` starts fast), `kinds` checks
that numbers and labels are not mixed up, `draws` and `evaluate` compute (numpy). This file imports none of them.
"""
