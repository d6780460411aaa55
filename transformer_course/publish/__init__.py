"""Publish a translator: one HTML page that translates in the browser."""

from transformer_course.publish.document import WEB
from transformer_course.publish.page import (
    SCRIPTS,
    Choice,
    caption_examples,
    opening_script,
    toy_examples,
    translator_scripts,
    write_page,
)

__all__ = [
    "SCRIPTS",
    "WEB",
    "Choice",
    "caption_examples",
    "opening_script",
    "toy_examples",
    "translator_scripts",
    "write_page",
]
