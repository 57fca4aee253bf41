"""`python -m crda_spec`: the `crda-spec` command where no script folder is on the path."""

from __future__ import annotations

from crda_spec.cli.app import main

if __name__ == "__main__":
    main()
