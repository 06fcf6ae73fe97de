"""How Sphinx builds the site: `make docs`.

The folder of the sources is the whole project, so that links between pages, notebooks and other files of it hold here
as they do in the repository.
"""

import gc
import sys
from pathlib import Path

from simsched.errors import SimschedError
from simsched.execute.kernels.module import module as executor
from simsched.version import version as installed

sys.path.insert(0, str(Path(__file__).parent))
# Pages are trees of many small objects, most of which live until the end: looking for garbage frees no memory.
gc.disable()

# jsonschema does without the formats of international addresses, which take 3 s to load.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # what keeps a module from being imported

project = "simsched"
release = installed()
root_doc = "docs/index"
include_patterns = ["docs/**.md", "notebooks/*.ipynb", "CHANGELOG.md", "CONTRIBUTING.md"]
exclude_patterns = [".*", "build", "out"]
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "site_references",
    "site_search",
    "site_tables",
]

# References into simsched must resolve; those into other libraries would take a look at their sites while building.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!simsched\.).*")]

default_role = "name"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {"npt.ArrayLike": "numpy.typing.ArrayLike"}
maximum_signature_line_length = 90
napoleon_google_docstring = False
# Types are said in words: as references, "tasks" would be whatever is called so.
napoleon_use_param = False
napoleon_use_rtype = False
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
# The site is read without a network: no widgets' scripts from elsewhere.
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
try:
    executor()
except SimschedError:
    nb_execution_excludepatterns = ["notebooks/02_*"]

html_theme = "pydata_sphinx_theme"
html_title = "simsched"
html_static_path = ["static"]
html_extra_path = ["front"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
