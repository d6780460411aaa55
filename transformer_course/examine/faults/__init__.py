"""Known faults: ways to break a right subject, with words in the files beside them.

Each file of Python has ways to break one kind of thing; the TOML file of the same name says of each
what gives it away and what to change.
"""

from transformer_course.examine.faults.fault import FAULTS, Fault

__all__ = ["FAULTS", "Fault"]
