"""The documentation site: `make docs` builds it with warnings as errors, to be read without a network."""

import inspect
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import matplotlib as mpl
from sphinx.errors import ExtensionError

import structlearn

sys.path.insert(0, str(Path(__file__).parent))
import methods
from sources import write_sources

mpl.use("agg")

project = "structlearn"
author = "The structlearn developers"
copyright = "2026, the structlearn developers, BSD 3-Clause"
version = release = structlearn.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["site", "course/*.rst", "gallery/*.ipynb", "tables.py"]
HAS_TORCH = find_spec("torch") is not None
if not HAS_TORCH:
    exclude_patterns.append("reference-torch.md")  # its help texts are those of modules that import PyTorch
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["config.cache"]  # the gallery's options hold a class

html_theme = "pydata_sphinx_theme"
html_title = "structlearn"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "start": []}  # pages without pages below them
html_theme_options = {
    "logo": {"text": "structlearn"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

templates_path = ["templates"]
autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autosummary_context = {"of_the_root": structlearn.__all__}  # described once, there
autodoc_typehints = "none"
default_role = "py:obj"
numpydoc_show_class_members = False  # they stand below the class, whole (see docs/methods.py)
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples", "course"],
    "gallery_dirs": ["gallery", "chapters"],
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1e9,
    "abort_on_example_error": True,
    "copyfile_regex": r".*\.rst",
    "plot_gallery": "True",
    "write_computation_times": False,  # pages that load their tables' style from a network
}


def setup(app):
    """Links to the repository's results lead to the page that includes them."""
    app.connect("source-read", lambda app, name, text: text.__setitem__(0, at_home(text[0])))
    app.connect("source-read", link_torch)
    app.connect("include-read", lambda app, path, name, text: text.__setitem__(0, at_home(text[0])))
    app.connect("autodoc-process-docstring", describe, priority=100)  # before numpydoc
    app.connect("autodoc-skip-member", leave_out)
    app.connect("autodoc-process-docstring", escape)
    app.connect("build-finished", readable_offline)
    app.connect("build-finished", write_sources)


def describe(app, what, name, thing, options, lines):
    """Parameters, results and examples of methods and functions, where help texts say nothing of them."""
    owner, _, own = name.rpartition(".")
    kind = getattr(structlearn, owner.removeprefix("structlearn."), None)
    if not lines or not methods.is_ours(thing):
        return
    if what == "method" and inspect.isclass(kind):
        lines[:] = methods.complete(kind, own, thing, lines)
    elif what == "function" and owner in methods.COMPLETE:
        lines[:] = methods.complete(None, own, thing, lines)


def leave_out(app, what, name, thing, skip, options):
    """Leave out methods that are scikit-learn's or for authors of estimators, and all without a help text."""
    if what != "class" or inspect.isclass(thing):
        return None
    if name in methods.PLUMBING or name.startswith("_"):
        return True
    of_ours = isinstance(thing, property) and inspect.getdoc(thing)
    return None if of_ours or methods.is_ours(thing) else True


def escape(app, what, name, thing, options, lines):
    """Help texts are for `help()`, too: escaped and linked for Sphinx here."""
    lines[:] = [re.sub(r"(?<![`|])\|(?![`|])", r"\\|", line) for line in lines]
    lines[:] = [re.sub(r"docs/([\w-]+)\.md", r":doc:`/\1`", line) for line in lines]


def link_torch(app, name, text):
    """Lead from the reference to the page of structlearn.torch where there is one."""
    if name == "reference" and HAS_TORCH:
        text[0] = text[0].replace("`structlearn.torch`", "[`structlearn.torch`](reference-torch.md)", 1)


def at_home(text: str) -> str:
    """Links that hold in the repository, as they hold in the site."""
    text = text.replace("(../benchmarks/RESULTS.md", "(results.md").replace("(../docs/", "(")
    return text.replace("(results/", "(../benchmarks/results/")


LOADED = re.compile(
    r"<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=[\"'](?:https?:)?//[^\"']*", re.IGNORECASE
)
LINKED = re.compile(r"<a\b[^>]*?\bhref=[\"'](\w+://[^\"']*)", re.IGNORECASE)


def readable_offline(app, error):
    """No page loads anything from elsewhere, and links to elsewhere are well formed."""
    pages = [] if error or app.builder.format != "html" else sorted(Path(app.outdir).rglob("*.html"))
    for page in pages:
        text = page.read_text()
        wrong = LOADED.findall(text)
        wrong += [one for one in LINKED.findall(text) if not well_formed(one)]
        if wrong:
            raise ExtensionError(f"{page.name} needs a network, or has a broken link: {wrong[0]}")


def well_formed(link: str) -> bool:
    """Whether this can be the address of a page on the web."""
    parts = urlsplit(link)
    return parts.scheme in ("http", "https") and "." in parts.netloc and " " not in link
