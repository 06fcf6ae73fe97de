"""Built-in machines, one TOML file each, registered through entry points.

An entry of the group `simsched.machines` names a function that returns the path of a machine file. A package of
your own adds a machine the same way: one TOML file, one function, one line in its `pyproject.toml`.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable


def _file(name: str) -> Traversable:
    return files(__package__) / f"{name}.toml"


def generic() -> Traversable:
    """`generic[cores=N]`: identical cores without tiles, limits of memory or overheads.

    Returns
    -------
    Traversable
        Its machine file.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.machine("generic[cores=16]").n_cores
    16
    """
    return _file("generic")


def knl_7250() -> Traversable:
    """`knl-7250`: Intel Xeon Phi 7250, Knights Landing.

    Returns
    -------
    Traversable
        Its machine file.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.machine("knl-7250").n_cores
    68
    """
    return _file("knl-7250")


def knl_7210() -> Traversable:
    """`knl-7210`: Intel Xeon Phi 7210, Knights Landing.

    Returns
    -------
    Traversable
        Its machine file.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.machine("knl-7210").n_cores
    64
    """
    return _file("knl-7210")


def knc_7120p() -> Traversable:
    """`knc-7120p`: Intel Xeon Phi 7120P, Knights Corner.

    Returns
    -------
    Traversable
        Its machine file.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.machine("knc-7120p").n_cores
    61
    """
    return _file("knc-7120p")


def sw26010() -> Traversable:
    """`sw26010`: Sunway SW26010.

    Returns
    -------
    Traversable
        Its machine file.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.machine("sw26010").n_cores, ss.machine("sw26010").n_domains
    (256, 4)
    """
    return _file("sw26010")


def xeon_8160x2() -> Traversable:
    """`xeon-8160x2`: two Intel Xeon Platinum 8160, Skylake.

    Returns
    -------
    Traversable
        Its machine file.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.machine("xeon-8160x2").n_cores, ss.machine("xeon-8160x2").n_domains
    (48, 2)
    """
    return _file("xeon-8160x2")


def epyc_9654x2() -> Traversable:
    """`epyc-9654x2`: two AMD EPYC 9654, Zen 4.

    Returns
    -------
    Traversable
        Its machine file.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.machine("epyc-9654x2").n_cores, ss.machine("epyc-9654x2").n_domains
    (192, 2)
    """
    return _file("epyc-9654x2")
