"""What can be said about a wrong answer that no known mistake explains: facts, no guesses.

Each clue is a sentence about what the code does, found by running it or by comparing numbers.
"""
