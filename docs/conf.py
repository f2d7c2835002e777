"""Settings of the site. `bash .ci/docs FOLDER` installs what it takes, builds the site and checks it."""

import os
import sys
import tomllib
from pathlib import Path

import bayes_svm

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_site"))
addresses = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["bayes-svm"]

project = "bayes_svm"
author = "the bayes_svm developers"
copyright = author
version = release = bayes_svm.__version__
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.katex",
    "own_members",
]
# README.md is what the folder shows in the repository; examples/ and figures/ are read by sphinx-gallery.
exclude_patterns = ["README.md", "data/README.md", "examples", "figures", "_*"]
templates_path = ["_templates"]
nitpicky = True
# Names of other packages, whose inventories are not downloaded.
nitpick_ignore_regex = [(r"py:.*", r"(sklearn|numpy|scipy|pandas|matplotlib|joblib)\..*")]

# Pages that validation scripts print are shown as they are: some begin a section two levels down.
suppress_warnings = ["myst.header"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_validation_checks = set()

sphinx_gallery_conf = {
    "examples_dirs": ["examples", "figures"],
    "gallery_dirs": ["gallery", "explanation/figures"],
    "doc_module": ("bayes_svm",),
    "reference_url": {"bayes_svm": None},
    "backreferences_dir": "reference/backreferences",
    "abort_on_example_error": True,
    "copyfile_regex": r".*\.csv",
    "image_srcset": ["2x"],
    "min_reported_time": 20,
    "parallel": os.cpu_count() or 1,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib", "figure_style.use"),
    "show_memory": False,
    "within_subsection_order": "gallery_order.place",
    "write_computation_times": False,
    "show_signature": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "bayes_svm"
html_baseurl = addresses["documentation"]
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_extra_path = ["llms.txt"]
html_show_sphinx = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {
        "text": "bayes_svm",
        "image_light": "_static/favicon.svg",
        "image_dark": "_static/favicon.svg",
        "alt_text": "",
    },
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "icon_links": [
        {"name": "Source", "url": addresses["repository"], "icon": "fa-brands fa-git-alt"}
        for _ in [0]
        if addresses["repository"]
    ],
}
html_sidebars = {"index": [], "install": [], "replacing": [], "changelog": []}

# KaTeX comes with the extension. MathML needs none of the fonts that it would load from elsewhere.
katex_css_path = "katex-math.css"
katex_options = 'output: "mathml", throwOnError: true'
