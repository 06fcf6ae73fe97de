"""Types of matplotlib for annotations: matplotlib itself is loaded on use, and may not be installed."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.container import Container, ErrorbarContainer
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.patches import Rectangle
    from matplotlib.text import Text
else:
    Artist = Axes = Container = ErrorbarContainer = Figure = Legend = Rectangle = ScalarMappable = Text = Any

__all__ = [
    "Artist",
    "Axes",
    "Container",
    "ErrorbarContainer",
    "Figure",
    "Legend",
    "Rectangle",
    "ScalarMappable",
    "Text",
]
