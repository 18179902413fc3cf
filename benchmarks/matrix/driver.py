"""Runs a profile: every cell of every round that has not been measured yet, in shuffled order."""

from __future__ import annotations

from pathlib import Path

from matrix.measure import measure, scale_key, time_of_one
from matrix.plan import Durations, Profile, Task
from matrix.progress import Progress
from matrix.state import State
from scenarios import offload_threshold
from tools import Tools


def run(tools: Tools, profile: Profile, folder: Path, seed: int | None, fresh: bool) -> State:
    """The state with every cell measured. Stopped in between, it goes on where it was."""
    state = State(folder)
    goes_on = state.open(tools, profile, seed, fresh)
    tasks = profile.tasks(state.facts["seed"])
    left = [task for task in tasks if not state.has(task)]
    print(f"profile {profile.name}, seed {state.facts['seed']}, state in {folder}")
    if goes_on:
        print(f"{len(tasks) - len(left)} of {len(tasks)} measurements are there already (--fresh forgets them)")
    if "seconds_of_one" not in state.facts:
        print("timing one response of each kind on google's module ...", flush=True)
        state.facts["seconds_of_one"] = time_of_one(tools, profile)
        state.save()
    seconds_of_one = state.facts["seconds_of_one"]

    progress = Progress(len(left), sum(_estimate(profile, task, seconds_of_one) for task in left))
    before = state.facts["seconds"]
    for task in left:
        progress.begin(f"round {task.round + 1}: {task.cell.label}")
        state.put(task, dict(measure(tools, profile, task.cell, seconds_of_one.get(scale_key(task.cell), 0.0))))
        progress.end(_estimate(profile, task, seconds_of_one))
        state.facts["seconds"] = round(before + progress.seconds, 1)
        state.save()
    progress.close()
    if profile.offload_threshold and "offload_threshold" not in state.facts:
        print("measuring from which length on a pool pays ...", flush=True)
        state.facts["offload_threshold"] = offload_threshold.measure(tools)
        state.save()
    return state


def _estimate(profile: Profile, task: Task, seconds_of_one: dict[str, float]) -> float:
    if task.cell.file is None:
        return profile.idle + 0.8
    response = seconds_of_one[scale_key(task.cell)]
    return Durations.of(profile, response).estimate(response)
