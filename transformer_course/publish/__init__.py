"""Publish a translator: one HTML page that translates in the browser."""

from transformer_course.publish.page import (
    SCRIPTS,
    WEB,
    data_script,
    toy_examples,
    widget,
    write_page,
)

__all__ = ["SCRIPTS", "WEB", "data_script", "toy_examples", "widget", "write_page"]
