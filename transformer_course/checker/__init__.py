"""Judge an answer and name its mistake; nothing in here knows an exercise."""
