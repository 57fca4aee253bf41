"""The causal graph as Python meets it: made from arrows or from other libraries' graphs, certified, drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from crda_spec.discovery.findings import Findings
from crda_spec.errors import Complaint, GraphError, show
from crda_spec.report.discovery import exported, search_sentence
from crda_spec.report.graph_draw import graph_picture, graph_svg
from crda_spec.report.words.causal import reason_sentence
from crda_spec.report.words.discovery import guess_notes
from crda_spec.scm import formats, graph
from crda_spec.scm.certificate import certify_named, drawn
from crda_spec.scm.formats import objects
from crda_spec.scm.formats._protocol import described
from crda_spec.scm.formats.edges import quoted
from crda_spec.scm.formats.python import read_any
from crda_spec.scm.graph import edge_names

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from pgmpy.base import ADMG, DAG

    GraphLike: TypeAlias = graph.CausalGraph | str | Sequence[str | tuple[str, str]] | nx.DiGraph[Any] | DAG | ADMG


@dataclass(frozen=True, slots=True, kw_only=True)
class CausalGraph(graph.CausalGraph):
    """What causes what, as the expert knows it.

    Make one with ``from_edges``, ``from_text``, ``from_dagitty``, ``from_dot``, ``from_networkx`` or ``from_pgmpy``. A
    notebook draws it. Whatever is wrong with the arrows is one ``GraphError``.

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
        texts = [edge if isinstance(edge, str) else f"{quoted(edge[0])} -> {quoted(edge[1])}" for edge in edges]
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
    def from_text(cls, text: str, *, target: str | None = None, latent: Sequence[str] = ()) -> Self:
        """The graph of text in any language: edges (one a line), DAGitty, DOT, GML (DoWhy takes these two), GraphML."""
        return cls._of(read_any(text).graph(target=target, latents=latent))

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
            What the model sees, ``frame.columns`` say; all columns but the target when left out. A column that the
            graph does not draw is blocked.
        """
        import pandas as pd

        names = self._features(features)
        undrawn = [name for name in names if name not in self.observed and name not in self.latents]
        drawn_too = described(self).graph(columns=(*self.observed, *undrawn)) if undrawn else self
        verdicts = certify_named(drawn_too, names)
        rows = [(one.status, reason_sentence(one.reason), " ".join(one.witness)) for one in verdicts]
        index = pd.Index([one.name for one in verdicts], name="feature")
        return pd.DataFrame(rows, columns=["class", "reason", "open path"], index=index)

    def _features(self, features: Iterable[str] | None) -> tuple[str, ...]:
        return tuple(name for name in (self.observed if features is None else features) if name != self.target)

    def _repr_html_(self) -> str:
        """For notebooks: the picture with the classes."""
        features = self._features(None)
        return graph_svg(drawn(self, features), certify_named(self, features))


def certify(graph_like: GraphLike, features: Iterable[str] | None = None, target: str | None = None) -> pd.DataFrame:
    """See `crda_spec.certify`."""
    names = None if features is None else tuple(features)
    if isinstance(graph_like, graph.CausalGraph):
        if target not in (None, graph_like.target):
            what = f"the graph's target is {show(graph_like.target)}, not {show(target)}"
            raise GraphError(Complaint(code="other-target", path="target", what=what, hint="leave target out"))
        return CausalGraph._of(graph_like).certify(names)  # noqa: SLF001 - our own
    read = read_any(graph_like)
    if names is None:
        return CausalGraph._of(read.graph(target=target)).certify()  # noqa: SLF001
    ends = {*names, *((target,) if target is not None else read.outcomes)}
    hidden = [name for name in read.nodes if name not in ends and name not in read.having("selected")]
    hidden = [name for name in hidden if name not in read.latents]
    return CausalGraph._of(read.graph(target=target, latents=hidden)).certify(names)  # noqa: SLF001


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """What a search found.

    Attributes
    ----------
    findings : Findings
        All of it: each link, the tests, the rows.
    wishes : tuple of str
        What became of what was asked of the search.

    """

    findings: Findings
    wishes: tuple[str, ...] = ()

    @property
    def graph(self) -> CausalGraph:
        """A draft to edit and declare: every direction that the data leave open is guessed, see ``notes``.

        A ``GraphError`` where no link touches the target.
        """
        return CausalGraph._of(self.findings.draft().graph)  # noqa: SLF001 - our own

    @property
    def notes(self) -> tuple[str, ...]:
        """What became of what was asked, and each guess of the draft."""
        return (*self.wishes, *guess_notes(self.findings.draft()))

    @property
    def links(self) -> pd.DataFrame:
        """Each link that was found: its ends, its mark, and the share of resamples that have it."""
        import pandas as pd

        rows = [(one.first, one.mark, one.second, one.frequency) for one in self.findings.graph.edges]
        return pd.DataFrame(rows, columns=["first", "mark", "second", "resamples"])

    def exported(self, form: str) -> tuple[bytes, tuple[str, ...]]:
        """What was found as svg or png; the draft as yaml, edges, dagitty, dot, gml or graphml; and what to mind."""
        picture = graph_picture(self.findings.drawn, (), form)
        return exported(self.findings, form) if picture is None else (picture, ())

    def __str__(self) -> str:
        return search_sentence(self.findings)

    def _repr_html_(self) -> str:
        """For notebooks: the picture of what was found."""
        return graph_svg(self.findings.drawn, ())
