"""Formulas as MathML, which browsers draw themselves: pages need no script and no network for them."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

log = logging.getLogger(__name__)


def _inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(_mathml(node, node.astext(), as_block=False))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.Element) -> None:
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    writer.body.append(_mathml(node, node.astext().strip(), as_block=True))
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def _mathml(node: nodes.Element, text: str, as_block: bool) -> str:
    try:
        return tex2mathml(text, as_block=as_block)
    except MathError as error:
        log.warning("formula %r: %s", text, error, location=node)
        return ""


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
