"""The causal graph as Python meets it: made from arrows or from other libraries' graphs, certified, drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from crda_spec.report.graph_draw import graph_svg
from crda_spec.report.words.causal import reason_sentence
from crda_spec.scm import formats, graph
from crda_spec.scm.certificate import certify_named, drawn
from crda_spec.scm.formats import objects
from crda_spec.scm.graph import edge_names

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from pgmpy.base import ADMG, DAG


@dataclass(frozen=True, slots=True, kw_only=True)
class CausalGraph(graph.CausalGraph):
    """What causes what, as the expert knows it.

    Make one with ``from_edges``, ``from_dagitty``, ``from_dot``, ``from_networkx`` or ``from_pgmpy``. A notebook draws
    it. Whatever is wrong with the arrows is one ``GraphError``.

    Examples
    --------
    >>> from crda_spec import CausalGraph
    >>> graph = CausalGraph.from_edges(
    ...     "{age dose} -> recovery", "severity -> {dose recovery}", target="recovery", latent=["severity"]
    ... )
    >>> graph.certify()["class"].to_dict()
    {'age': 'cause', 'dose': 'blocked'}
    """

    @classmethod
    def from_edges(
        cls,
        *edges: str | tuple[str, str],
        target: str,
        latent: Sequence[str] = (),
        selected: Sequence[str] = (),
        unrelated: Sequence[str] = (),
        noise: Sequence[str] = (),
    ) -> Self:
        """The graph of these arrows: ``"a -> b"``, ``"a <-> b"``, ``"{a b} -> c"``, or pairs (cause, effect).

        Parameters
        ----------
        *edges : str or pair of str
            The arrows; columns are all names that are not latent.
        target : str
            The column to predict.
        latent : sequence of str
            Nodes that nobody measured.
        selected : sequence of str
            Nodes by which rows were chosen into the data.
        unrelated : sequence of str
            Columns that are chance: drawn without an arrow on purpose.
        noise : sequence of str
            Columns that the size of the target's noise depends on.
        """
        texts = [edge if isinstance(edge, str) else f"{_quoted(edge[0])} -> {_quoted(edge[1])}" for edge in edges]
        parsed, _ = formats.parse_edges(texts)
        named = dict.fromkeys((*edge_names(parsed), target, *unrelated, *noise))
        return cls._of(
            formats.from_edges(
                texts,
                columns=[name for name in named if name not in latent],
                target=target,
                latents=latent,
                selected=selected,
                unrelated=unrelated,
                noise_parents=noise,
            )
        )

    @classmethod
    def from_dagitty(cls, text: str, *, target: str | None = None, latent: Sequence[str] = ()) -> Self:
        """The graph of DAGitty text; its outcome is the target unless said. latent: beside those that it marks."""
        return cls._of(formats.read_graph(text, "dagitty", file="").graph(target=target, latents=latent))

    @classmethod
    def from_dot(cls, text: str, *, target: str | None = None, latent: Sequence[str] = ()) -> Self:
        """The graph of a Graphviz digraph, as DoWhy takes it. latent: beside the dashed nodes."""
        return cls._of(formats.read_graph(text, "dot", file="").graph(target=target, latents=latent))

    @classmethod
    def from_networkx(cls, digraph: nx.DiGraph[Any], *, target: str | None = None, latent: Sequence[str] = ()) -> Self:
        """The graph of a DiGraph; node attributes ``latent=True``, ``outcome=True`` and so on give the roles too."""
        return cls._of(objects.read_networkx(digraph).graph(target=target, latents=latent))

    @classmethod
    def from_pgmpy(cls, model: DAG | ADMG, *, target: str | None = None, latent: Sequence[str] = ()) -> Self:
        """The graph of a pgmpy DAG (a Bayesian network is one) or ADMG; its roles count too."""
        return cls._of(objects.read_pgmpy(model).graph(target=target, latents=latent))

    @classmethod
    def _of(cls, checked: graph.CausalGraph) -> Self:
        return cls(**{field.name: getattr(checked, field.name) for field in fields(graph.CausalGraph)})

    def to_edges(self) -> tuple[str, ...]:
        """One text for each arrow; roles are not in them."""
        return formats.to_edges(self)

    def to_dagitty(self) -> str:
        """DAGitty text."""
        return formats.write_graph(self, "dagitty").text

    def to_dot(self) -> str:
        """A Graphviz digraph."""
        return formats.write_graph(self, "dot").text

    def to_networkx(self) -> nx.DiGraph[str]:
        """A DiGraph with the roles as node attributes."""
        return objects.to_networkx(self)

    def to_pgmpy(self) -> DAG:
        """A pgmpy DAG; hidden common causes are latent parents."""
        return objects.to_pgmpy_dag(self)

    def certify(self, features: Iterable[str] | None = None) -> pd.DataFrame:
        """Each feature's class and why: irrelevant (moves freely), cause (moves with its noise), blocked (stays).

        Parameters
        ----------
        features : iterable of str, optional
            What the model sees; all columns but the target when left out.
        """
        import pandas as pd

        verdicts = certify_named(self, self._features(features))
        rows = [(one.status, reason_sentence(one.reason), " ".join(one.witness)) for one in verdicts]
        index = pd.Index([one.name for one in verdicts], name="feature")
        return pd.DataFrame(rows, columns=["class", "reason", "open path"], index=index)

    def _features(self, features: Iterable[str] | None) -> tuple[str, ...]:
        return tuple(name for name in (self.observed if features is None else features) if name != self.target)

    def _repr_html_(self) -> str:
        """For notebooks: the picture with the classes."""
        features = self._features(None)
        return graph_svg(drawn(self, features), certify_named(self, features))


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
