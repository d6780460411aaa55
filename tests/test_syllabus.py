from transformer_course.syllabus import LESSONS, colab_link, kaggle_link

REPOSITORY = "https://github.com/owner/name"


def test_lessons_are_numbered_from_zero():
    assert [int(name.partition("_")[0]) for name in LESSONS] == list(range(len(LESSONS)))


def test_links_lead_to_the_notebook():
    assert colab_link(REPOSITORY, "01_x") == (
        "https://colab.research.google.com/github/owner/name/blob/main/notebooks/01_x.ipynb"
    )
    assert kaggle_link(REPOSITORY, "01_x") == (
        "https://kaggle.com/kernels/welcome?src="
        "https://raw.githubusercontent.com/owner/name/main/notebooks/01_x.ipynb"
    )
