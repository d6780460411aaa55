"""What an answer changes outside neither disturbs its check nor stays, wherever that runs."""

import gc
import math
import os
import random
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course.exercises import start_here

from .rejected import words

pytestmark = pytest.mark.usefixtures("nothing_is_left_behind")
softmax = start_here.softmax
right_softmax = softmax.task.answer


# What it changes outside


def changes_settings(scores):
    torch.manual_seed(7)
    random.seed(7)
    np.random.seed(7)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(torch.get_num_threads() + 1)
    torch.set_default_device("meta")
    warnings.simplefilter("error")
    sys.stdout = sys.stderr = None
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    return right_softmax(scores)


def changes_more_settings(scores):
    os.chdir(os.sep)
    sys.setrecursionlimit(sys.getrecursionlimit() + 1)
    torch.set_printoptions(precision=2, sci_mode=True)
    np.set_printoptions(precision=2)
    torch.set_deterministic_debug_mode("warn")
    torch.autograd.set_detect_anomaly(True, check_nan=False)
    sys.settrace(lambda *event: None)
    sys.setprofile(lambda *event: None)
    gc.disable()
    gc.set_threshold(7)
    return right_softmax(scores)


def switches_gradients_off(scores):
    torch.set_grad_enabled(False)
    return right_softmax(scores)


def changes_settings_and_crashes(scores):
    changes_settings(scores)
    raise ValueError


def test_changed_settings_neither_disturb_nor_stay():
    assert softmax.check(changes_settings).passed
    assert softmax.check(changes_more_settings).passed
    assert "It stopped with ValueError" in words(softmax, changes_settings_and_crashes)
    assert softmax.check(switches_gradients_off).mistakes == ("no gradient passes",)


def test_a_working_folder_that_is_gone_is_left(tmp_path, monkeypatch):
    def removing(scores):
        folder = tmp_path / "folder"
        folder.mkdir()
        os.chdir(folder)
        folder.rmdir()
        return right_softmax(scores)

    with monkeypatch.context() as patch:
        patch.chdir(tmp_path)
        assert softmax.check(removing).passed
        assert Path.cwd() == tmp_path


def broken(*inputs, **options):
    raise AssertionError("a function of torch was replaced")


def replace_functions():
    torch.softmax = F.softmax = Tensor.softmax = F.linear = broken
    torch.exp = Tensor.exp = Tensor.sum = torch.isclose = Tensor.clone = broken
    Tensor.__matmul__ = Tensor.__sub__ = Tensor.detach = broken
    nn.Linear.forward = nn.Module.__call__ = math.sqrt = broken


def test_replaced_functions_of_torch_do_not_disturb_the_judgement():
    def right_then_sabotage(scores):
        shares = right_softmax(scores)
        replace_functions()
        return shares

    def wrong_then_sabotage(scores):
        shares = scores.softmax(dim=0)
        replace_functions()
        return shares

    assert softmax.check(right_then_sabotage).passed
    assert softmax.check(wrong_then_sabotage).mistakes == ("the softmax runs along the first axis",)
    assert torch.ones(2).softmax(0).sum() == 1


def test_a_function_of_torch_replaced_by_the_wrong_answer_helps_nobody():
    def along_axis_0(scores):
        Tensor.softmax = torch.softmax = lambda scores, dim: scores.log_softmax(0).exp()
        return scores.softmax(dim=-1)

    assert softmax.check(along_axis_0).mistakes == ("the softmax runs along the first axis",)


def test_functions_replaced_before_the_check_come_back_after_it(monkeypatch):
    def mine(scores):
        return scores * 0

    with monkeypatch.context() as patch:
        patch.setattr(Tensor, "exp", mine)
        patch.setattr(torch, "mine", mine, raising=False)
        assert softmax.check(right_softmax).passed
        assert not softmax.check(lambda scores: scores * 0).passed
        assert Tensor.exp is mine
        assert torch.mine is mine


def test_answers_that_keep_what_they_got():
    kept = []

    def keeping(scores):
        kept.append(scores)
        return right_softmax(kept[0])

    assert not softmax.check(keeping).passed
    assert not softmax.check(lambda scores: scores).passed
    assert "changes its arguments in place" in words(
        softmax, lambda scores: scores.copy_(right_softmax(scores))
    )


# Where it runs


def test_a_bare_python_without_widgets_and_without_a_home_for_progress():
    program = """
        import sys
        sys.modules["ipywidgets"] = None
        from transformer_course.exercises import start_here
        feedback = start_here.softmax.check(lambda x: (x - x.logsumexp(-1, True)).exp())
        assert feedback.passed and feedback._repr_html_()
        print(feedback)
    """
    surroundings = {k: v for k, v in os.environ.items() if k != "TRANSFORMER_COURSE_HOME"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**surroundings, "HOME": os.devnull, "USERPROFILE": os.devnull},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Well done" in done.stdout
    assert "This is not saved" in done.stdout


def test_a_home_folder_that_is_read_only(monkeypatch):
    def denied(*inputs, **options):
        raise PermissionError

    monkeypatch.setattr("pathlib.Path.mkdir", denied)
    feedback = softmax.check(right_softmax)
    assert feedback.passed
    assert "This is not saved" in repr(feedback)
