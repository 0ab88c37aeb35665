"""Attribution of a function's outputs to its inputs: `np.attribute`, by several methods.

`_attribute` is the function, `_problem` what it is asked (inputs, components, chosen outputs), `_result` the answer;
the methods are in `_local` (the law), `_path` (derivatives) and `_games` (leaving components out). `_taps` says which
places in a network are meant, `_layers` attributes to them; `_text` is for language models, `_rows` for data.
"""

from npdec._show.accessor import Plots
from npdec.attribution._absent import blurred, dropped
from npdec.attribution._attribute import attribute
from npdec.attribution._hierarchy import correlated
from npdec.attribution._result import Attribution
from npdec.attribution._rows import Summary, attribute_rows, summarize
from npdec.attribution._taps import Layer
from npdec.attribution._text import TextAttribution, attribute_text

__all__ = [
    "Attribution",
    "Layer",
    "Plots",
    "Summary",
    "TextAttribution",
    "attribute",
    "attribute_rows",
    "attribute_text",
    "blurred",
    "correlated",
    "dropped",
    "summarize",
]
