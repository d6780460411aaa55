"""The learner's folder: working copies of the lessons, kept up to date, and JupyterLab in it."""
