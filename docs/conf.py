"""How Sphinx builds the site: `python scripts/docs.py` at the root of the repository runs it and checks the links."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "extensions")]
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])  # commands in pages

import torch  # noqa: E402

import npdec  # noqa: E402

torch.set_num_threads(1)
warnings.filterwarnings("ignore", module="sphinx_gallery")

project = "npdec"
author = "The npdec developers"
copyright = "the npdec developers"
version = release = str(npdec.version)

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "mathml",
    "reference",
    "rules",
]
exclude_patterns = ["_build", "extensions", "**/GALLERY_HEADER.rst", "tutorials", "explanations", "gallery"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
templates_path = ["_templates"]
default_role = "code"

# -- Markdown ----------------------------------------------------------------------------------------------------------

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

# -- reference ---------------------------------------------------------------------------------------------------------

autosummary_generate = True
autosummary_generate_overwrite = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "alphabetical"
add_module_names = True
toc_object_entries = False
html_math_renderer = "mathml"

# -- scripts that run --------------------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": ["tutorials", "explanations", "gallery"],
    "gallery_dirs": ["made/tutorials", "made/explanations", "made/gallery"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib",),
    "backreferences_dir": None,
    "plot_gallery": os.environ.get("NPDEC_DOCS_QUICK") != "1",
}
suppress_warnings = ["config.cache"]  # what the templates call has no pickle

# -- pages -------------------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"npdec {release}"
html_static_path = ["_static"]
html_css_files = ["npdec.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
