"""A YAML file that is no spec, read as strictly as one: every problem at once, each with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from crda_spec.errors import Complaint, CrdaError, Place, SpecError, show
from crda_spec.spec.explain import explain
from crda_spec.spec.load import path_in, read_text
from crda_spec.spec.yaml_tree import Tree, read_tree

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Document(Generic[Model]):
    """What a file says, and where it says it."""

    content: Model
    file: Path
    tree: Tree

    @contextmanager
    def placing(self) -> Iterator[None]:
        """Complaints from inside name their places in the file."""
        try:
            yield
        except CrdaError as error:
            raise type(error)(one.at(self._place(one.path)) for one in error.complaints) from error

    def _place(self, path: str) -> Place:
        return self.tree.place(path_in(self.tree, path)) or Place(self.file.name)


def read_document(file: Path, model: type[Model], *, holds: str) -> Document[Model]:
    """The file's content as this model. An empty file says nothing. holds: what it is for, in messages."""
    text, trouble = read_text(file, holds=holds)
    tree = read_tree(text, file.name, {}) if trouble is None else Tree()
    complaints = [trouble] if trouble else [one for one in tree.complaints if one.code != "empty-spec"]
    if not complaints and tree.value is not None and not isinstance(tree.value, dict):
        what, known = f"{holds} are key: value lines, got {show(tree.value)}", ", ".join(model.model_fields)
        complaints = [Complaint(code="not-a-mapping", what=what, hint=f"keys: {known}", place=tree.place(()))]
    if complaints:
        raise SpecError(complaints)
    value = tree.value or {}
    try:
        return Document(model.model_validate_json(json.dumps(value)), file, tree)
    except ValidationError as error:
        raise SpecError(explain(error.errors(include_url=False), model, tree)) from None
