"""`structlearn compare scaling`: how solvers scale with the number of examples and with lambda."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from structlearn.cli.support.errors import say
from structlearn.cli.support.options import option

if TYPE_CHECKING:
    from structlearn.reports.scaling.results import Results
    from structlearn.reports.scaling.study import StudyPlan

SCALING = "scaling"
#: Minutes that a study takes at most.
MINUTES = 30.0


@dataclass(frozen=True)
class ScalingOptions:
    """What a study is of, and how long it may take."""

    problems: Annotated[
        str | None,
        option(
            "A,B,...",
            "digits, letters, scene, alignment, parsing.  [default: all whose data is here]",
            "--problem",
        ),
    ] = None
    minutes: Annotated[float | None, option("N", f"Minutes in all, at most.  [default: {MINUTES:g}]")] = None
    largest: Annotated[
        int | None, option("N", "Most examples.  [default: all; alignment: 10,000]", min=1)
    ] = None

    def names(self) -> list[str] | None:
        """Return the problems that are named."""
        return None if self.problems is None else [n.strip() for n in self.problems.split(",") if n.strip()]


def study(
    out: Path,
    wanted: ScalingOptions,
    *,
    solvers: Sequence[str] | None,
    data: Path | None,
    seed: int,
    jobs: int,
) -> None:
    """Run the study, or what is left of it, and write its report."""
    from structlearn.apps.scaling import chosen_problems
    from structlearn.reports.scaling.grid import chosen_solvers
    from structlearn.reports.scaling.study import StudyPlan
    from structlearn.storage.atomic import check_writable, make_folder

    minutes = MINUTES if wanted.minutes is None else wanted.minutes
    if not minutes > 0:
        raise ValueError(f"--minutes must be above 0; got {minutes:g}.")
    if jobs < 1:
        raise ValueError(f"--jobs must be at least 1 here, a number of processes; got {jobs}.")
    if data is not None and not data.is_dir():
        raise FileNotFoundError(f"The data folder {data} does not exist.")
    plan = StudyPlan(chosen_solvers(solvers), wanted.largest, seed, jobs)
    names = chosen_problems(wanted.names(), data, say)
    check_writable(make_folder(out) / "index.html")
    try:
        _run(names, plan, out, data, minutes)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Interrupted: cells that have ended are kept in {out}; the same command goes on with the others."
        ) from None


def _run(names: list[str], plan: StudyPlan, out: Path, data: Path | None, minutes: float) -> None:
    from structlearn.apps.scaling import study_problem
    from structlearn.reports.scaling.page import count_cells
    from structlearn.reports.scaling.study import TimeBudget, run_study, spent_seconds

    spent = sum(spent_seconds(out / name) for name in names)
    budget = TimeBudget(minutes, plan.jobs, spent)
    say(_announcement(len(names), plan.jobs, minutes, spent / plan.jobs / 60.0))
    for k, name in enumerate(names):
        problem = study_problem(name, data, largest=plan.largest, seed=plan.seed)
        say(f"Read {problem.total} examples of {name}: {problem.what}.")
        share = budget.share(len(names) - k)
        results = run_study(problem, plan, out / name, share, say, budget.end)
        say(f"{name}: {count_cells(results)}")
    _report(out, plan, minutes)


def _announcement(problems: int, jobs: int, minutes: float, spent: float) -> str:
    """Return what a study will take, said before it starts."""
    left = max(0.0, minutes - spent)
    shared = "" if problems == 1 else f", in equal parts for {problems} problems"
    earlier = f"; earlier runs took {spent:.3g} of them" if spent else ""
    return (
        f"At most {left:.3g} minutes with {jobs} {'process' if jobs == 1 else 'processes'} at once{shared}"
        f"{earlier}. What has not run by then is left out: the same command with more --minutes goes on."
    )


def _report(out: Path, plan: StudyPlan, minutes: float) -> None:
    """Write the report of all problems that the folder holds, also those of earlier runs."""
    from structlearn.core.wording import align_columns
    from structlearn.reports.scaling.page import write_study
    from structlearn.reports.scaling.study import FILE, read_results

    studies = [read_results(path.parent) for path in sorted(out.glob(f"*/{FILE}"))]
    about = {
        "problems": ", ".join(one.problem for one in studies),
        "seed": plan.seed,
        "minutes": f"{minutes:g} at most for the problems of the last run, {plan.jobs} processes at once",
    }
    page = write_study(studies, out, about=about)
    print(align_columns([("problem", "n", "lambda", "gap", "solver", "seconds", "next"), *_winners(studies)]))
    print(f"\npage: {page}")


def _winners(studies: list[Results]) -> list[tuple[str, ...]]:
    """Return the quickest solver to each gap, with the most examples that any solver got there with."""
    from structlearn.reports.scaling.analysis import last_winner, without_winner
    from structlearn.reports.tables import brief

    rows: list[tuple[str, ...]] = []
    for one in studies:
        for lam in one.lambdas:
            for gap in one.gaps:
                n, best = last_winner(one, lam, gap)
                end = (without_winner(one, n, lam, gap), "–", "–")
                if best is not None:
                    ahead = "alone" if best.ahead is None else f"{brief(best.ahead, 2)} times"
                    end = (best.solver, brief(best.cpu_seconds, 2), ahead)
                rows.append((one.problem, str(n), lam, f"{gap:g}", *end))
    return rows
