"""The special tokens of the toys that are searched in this lesson."""

BOS, EOS = 1, 2  # their words begin at 3
