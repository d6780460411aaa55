"""The Transformer of "Attention Is All You Need", built piece by piece."""

from importlib.metadata import version

__version__ = version("transformer-course")
