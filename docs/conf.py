"""How Sphinx builds the site: `make docs`.

Everything is made here: the examples run, the mathematics becomes MathML, which browsers draw
without a script. So the pages need no network, neither to be built nor to be read.
"""

import logging
import re
import sys
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.utils.math import latex2mathml

import anmin

logging.getLogger("distributed").setLevel(logging.WARNING)

project = "anmin"
author = "anmin developers"
project_copyright = "the anmin developers"
version = release = anmin.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5"]
default_role = "code"  # a name in single backticks, as in the docstrings
smartquotes_action = "De"  # dashes; quotes stay as they are, since many of them are code
highlight_language = "none"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "image_srcset": ["2x"],
    "thumbnail_size": (480, 220),
    "write_computation_times": False,
}

html_theme = "furo"
html_title = "anmin"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0072B2",
        "color-brand-content": "#0072B2",
        "code-font-size": "80%",
    },
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9"},
}


# ---- mathematics --------------------------------------------------------------------------------


ACCENT = re.compile(r"\\(tilde|hat|bar) ?(\w|\\\w+)(?=_)")  # an index belongs beside it, not below


def mathml(node, **options):
    return latex2mathml.tex2mathml(ACCENT.sub(r"\g<0>{}", node.astext()), **options)


def visit_inline(writer, node):
    writer.body.append(mathml(node))
    raise nodes.SkipNode


def visit_block(writer, node):
    number, label = node.get("number"), node.get("ids")
    anchor = f' id="{escape(label[0])}"' if label else ""
    mark = f'<span class="eqno">({number})</span>' if number else ""
    formula = mathml(node, as_block=True)
    writer.body.append(f'<div class="math"{anchor}><div>{formula}</div>{mark}</div>')
    raise nodes.SkipNode


# ---- docstrings ---------------------------------------------------------------------------------
# Ours are written to be read as they are; here they become what Sphinx expects.

LISTS = ("Parameters", "Attributes")
ENTRY = re.compile(r"^([\w, ]+) : (.+)$")  # of a list of parameters
NAME = re.compile(r"(?<![\w`])(\w+)_(?![\w`])")  # lam_ is a name, and not a link called lam


def as_rest(_app, _what, _name, _obj, _options, lines):
    lines[:] = [line for title, body in sections(lines) for line in section(title, body)]


def sections(lines):
    """The parts of a docstring as (title, lines); plain text has no title."""
    parts = [("", [])]
    for line in lines:
        title, body = parts[-1]
        if body and set(line) == {"-"}:
            parts.append((body.pop(), []))
        elif line.startswith(">>>") and title not in ("", "Examples"):
            parts.append(("Examples", [line]))
        elif title in LISTS and ends_list(body, line):
            parts.append(("", ["", "", line]))
        else:
            body.append(line)
    return parts


def ends_list(body, line):
    """Whether a line after a blank one is plain text, and no parameter."""
    return bool(line and line[0] != " " and body and not body[-1] and not ENTRY.match(line))


def section(title, body):
    head = [title, "-" * len(title)] if title else []
    if title in LISTS:
        pairs = zip(body, [*body[1:], ""], strict=True)
        return [*head, *(line for pair in pairs for line in entry(*pair)), ""]
    if title == "Returns" and not any(line.startswith(" ") for line in body):  # plain prose
        return [":Returns:", *(f"    {line}" for line in prose(body)), ""]
    return [*head, *prose(body), ""]


def entry(line, below):
    """A line of a list of parameters: "name : type", or "name : what it is"."""
    found = ENTRY.match(line)
    if found is None:
        return [escaped(line)]
    name, text = found[1], escaped(found[2])
    is_type = ";" not in text and not text.startswith(("the ", "a ", "where "))
    return [f"{name} : {text}"] if is_type and below.startswith(" ") else [name, f"    {text}"]


def prose(lines):
    """The lines, escaped where they are no example."""
    example = False
    for line in lines:
        example = line.lstrip().startswith(">>>") or (example and line.strip() != "")
        yield line if example else escaped(line)


def escaped(text):
    return NAME.sub(r"\1\\_", text).replace("*.", r"\*.")


def live_shapes(app):
    """The pages that docs/guide/shapes.md shows in frames."""
    if app.builder.format == "html":
        sys.path.insert(0, str(Path(__file__).parent))
        from live_shapes import make

        make(Path(app.outdir, "live"))


def setup(app):
    app.connect("builder-inited", live_shapes)
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("autodoc-process-docstring", as_rest, priority=100)
    return {"parallel_read_safe": True}
