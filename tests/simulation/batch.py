"""Many runs, one seed after another, on as many processors as may be used."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import partial
from itertools import count

from tests.simulation.run import Outcome, run


def outcomes(first_seed: int, matches: int, jobs: int, tables: int) -> Iterator[Outcome]:
    """Outcomes of the seeds from the first on, each with so many tables, until so many matches have
    ended in all.
    """
    seeds = count(first_seed)
    if jobs == 1:
        yield from _until(map(partial(run, tables=tables), seeds), matches)
        return
    # Each worker is a fresh interpreter, so that nothing of the caller's is in the way.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context)
    try:
        yield from _until(_pooled(pool, seeds, jobs, tables), matches)
    finally:
        pool.shutdown(cancel_futures=True)  # nobody asks for what has not been begun


def _pooled(
    pool: ProcessPoolExecutor, seeds: Iterator[int], jobs: int, tables: int
) -> Iterator[Outcome]:
    running: set[Future[Outcome]] = set()
    while True:
        while len(running) < 2 * jobs:
            running.add(pool.submit(run, next(seeds), tables))
        done, running = wait(running, return_when=FIRST_COMPLETED)
        yield from sorted((each.result() for each in done), key=lambda outcome: outcome.seed)


def _until(results: Iterator[Outcome], matches: int) -> Iterator[Outcome]:
    ended = 0
    for outcome in results:
        yield outcome
        ended += outcome.counts["matches"]
        if ended >= matches:
            return
