import pytest

from transformer_course.translation.training.schedule import noam, warmup_cosine


@pytest.mark.parametrize(("step", "rate"), [(1, 1.747e-7), (4000, 6.988e-4), (100_000, 1.398e-4)])
def test_paper_schedule_has_the_known_values(step: int, rate: float) -> None:
    assert noam(step, d_model=512, warmup=4000) == pytest.approx(rate, rel=5e-4)


def test_paper_schedule_peaks_at_the_end_of_the_warmup() -> None:
    rates = [noam(step, 512, 100) for step in range(1, 400)]
    assert max(rates) == rates[99]
    assert rates[:100] == sorted(rates[:100])
    assert rates[99:] == sorted(rates[99:], reverse=True)


def test_wider_models_step_less() -> None:
    assert noam(7, 1024, 100) == pytest.approx(noam(7, 256, 100) / 2)


@pytest.mark.parametrize(("step", "warmup"), [(0, 100), (-1, 100), (1, 0)])
def test_steps_count_from_one(step: int, warmup: int) -> None:
    with pytest.raises(ValueError, match="count from 1"):
        noam(step, 512, warmup)


def test_cosine_rises_in_a_line_and_falls_to_zero() -> None:
    def rate(progress: float) -> float:
        return warmup_cosine(progress, peak=2.0, warmup=0.2)

    assert rate(0.0) == 0
    assert rate(0.1) == pytest.approx(1.0)
    assert rate(0.2) == pytest.approx(2.0)
    assert rate(0.6) == pytest.approx(1.0)  # half way down
    assert rate(1.0) == pytest.approx(0, abs=1e-12)


def test_cosine_falls_slowly_at_both_ends() -> None:
    rates = [warmup_cosine(progress, 1.0, 0.2) for progress in (0.2, 0.3, 0.55, 0.65, 0.9, 1.0)]
    first, middle, last = (rates[i] - rates[i + 1] for i in (0, 2, 4))
    assert middle > 2 * first
    assert middle > 2 * last


@pytest.mark.parametrize(("progress", "warmup"), [(-0.1, 0.2), (1.1, 0.2), (0.5, 1.0)])
def test_shares_outside_a_run_are_refused(progress: float, warmup: float) -> None:
    with pytest.raises(ValueError, match="shares of the run"):
        warmup_cosine(progress, 1.0, warmup)
