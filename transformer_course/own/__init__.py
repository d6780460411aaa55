"""The learner's own translator: one file, in which a solved exercise takes its place as a part."""
