"""One answer judged for a program that asks, such as an assistant, and how much it may show."""
