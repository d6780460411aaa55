"""Where an exercise has no implementation of the course to be compared with, torch has one."""

import torch

from transformer_course.exercises.toy_translation import adam_update


def test_adam_is_that_of_torch():
    torch.manual_seed(0)
    weight = torch.randn(3, 4, dtype=torch.float64)
    theirs = torch.nn.Parameter(weight.clone())
    optimizer = torch.optim.Adam([theirs], lr=0.01, betas=(0.9, 0.98), eps=1e-9)
    mean = square = torch.zeros_like(weight)
    for step in range(1, 11):
        theirs.grad = torch.randn(3, 4, dtype=torch.float64)
        weight, mean, square = adam_update.task.answer(
            weight, theirs.grad, mean, square, step, rate=0.01
        )
        optimizer.step()
        torch.testing.assert_close(weight, theirs.detach(), rtol=1e-12, atol=1e-12)
