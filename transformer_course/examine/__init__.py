"""What is wrong with a Transformer that anybody wrote: experiments, known faults, a card."""

from transformer_course.examine.subject import Subject

__all__ = ["Subject"]
