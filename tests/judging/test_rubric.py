"""The default rubric as people read it; the judge's own copy is never touched."""

from judging.rubric import DEFAULT, unwrapped


def test_wrapped_points_become_one_line_each_and_lose_nothing() -> None:
    lines = unwrapped(DEFAULT).splitlines()
    assert len(lines) == 5 and all(line.startswith("- ") for line in lines)
    assert " ".join(lines).split() == DEFAULT.split()


def test_lines_and_lists_that_somebody_wrote_stay_apart() -> None:
    written = "Be brief.\nBe kind.\n\n- One\n  - of its own\n  1. first\n\n    \nEnd."
    assert unwrapped(written) == written
