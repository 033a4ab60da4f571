"""What tasks took, as the work folder keeps it."""

from __future__ import annotations

from neartag.core.progress import Progress
from neartag.work.executors.in_process import InProcess
from neartag.work.folder import WorkFolder
from neartag.work.times import TIMES, read_times
from work_helpers import diamond


def run_diamond(place, **others):
    folder = WorkFolder(place)
    folder.open({})
    InProcess(1, None, folder).run(diamond(**others), Progress(), "toys")
    return folder


def test_each_task_is_written_down_with_what_it_took(tmp_path):
    run_diamond(tmp_path / "work", pause=0.02)
    times = read_times(tmp_path / "work")
    assert [took.name for took in times] == ["a", "b", "c", "d"]
    assert times[0].seconds >= 0.02 > times[0].cpu
    assert {took.threads for took in times} == {1}
    assert {took.written for took in times} == {8}
    assert [took.task() for took in times] == list(diamond(pause=0.02).order())


def test_of_a_task_that_ran_twice_the_last_time_counts_and_a_cut_line_does_not(tmp_path):
    folder = run_diamond(tmp_path / "work", pause=0.02)
    (file,) = (tmp_path / "work" / TIMES).iterdir()
    folder.path("a").unlink()
    run_diamond(tmp_path / "work", pause=0.0)
    with open(file, "a") as more:
        more.write('{"name": "d", "sta')
    times = {took.name: took for took in read_times(tmp_path / "work")}
    assert sorted(times) == ["a", "b", "c", "d"]
    assert times["a"].arguments["pause"] == 0.0


def test_a_folder_of_which_nothing_was_run_has_no_times(tmp_path):
    assert read_times(tmp_path) == []
