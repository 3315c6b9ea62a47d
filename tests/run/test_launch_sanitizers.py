"""The launcher of parallel loops under the thread, address and undefined behaviour sanitizers, in a program without Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RUNTIME = Path(__file__).parents[2] / "gscompile" / "runtime"
PROGRAM = r"""
#define _GNU_SOURCE
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "_launch.h"

enum { MOST = 40 };
typedef struct { int seen[MOST]; int nested; } Cells;
static _Atomic(int64_t) threads = 3;

static int body(int task, GsGroup *group, void *data) {
    Cells *cells = data;
    (void)group;
    cells->seen[task] += 1; /* a race where two threads get the same task, or where the caller looks too early */
    if (cells->nested) {
        Cells inner = {{0}, 0};
        gs_launch(NULL, NULL, 3);
        if (gs_launch(body, &inner, 0) != 0 || inner.seen[0] != 1 || inner.seen[2] != 1 || inner.seen[3] != 0)
            abort();
    }
    return cells->nested && task == 5 ? -1 : 0;
}

static void launches(unsigned seed, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        Cells cells = {{0}, round % 5 == 0};
        int n = (int)(seed + 7u * (unsigned)round) % MOST;
        gs_launch(NULL, NULL, n);
        int code = gs_launch(body, &cells, 0);
        if (code != (cells.nested && n > 5 ? -1 : 0))
            abort();
        for (int k = 0; k < MOST; ++k)
            if (cells.seen[k] != (k < n))
                abort();
        if (round % 40 == 39)
            usleep(200); /* the helpers fall asleep */
    }
}

static void *client(void *seed) { launches((unsigned)(uintptr_t)seed, 400); return NULL; }

typedef struct { void (*task)(void *, int64_t); void *job; int64_t n; } Part;
static void *part(void *given) {
    Part *p = given;
    for (int64_t k = 0; k < p->n; ++k)
        p->task(p->job, k);
    return NULL;
}

/* Another's pool: a thread for the first half, the second half here. */
static void foreign(void *context, int64_t tasks, void (*task)(void *, int64_t), void *job) {
    pthread_t other;
    Part half = {task, job, tasks / 2};
    assert(context == NULL && pthread_create(&other, NULL, part, &half) == 0);
    Part rest = {task, job, tasks - tasks / 2};
    part(&rest);
    pthread_join(other, NULL);
}

/* Launches of two threads that lose so much of 1000; how many until the pool that is used changes. */
static int until_it_turns(int lost, int most) {
    int before = atomic_load(&gs_turn.other);
    for (int n = 1; n <= most; ++n) {
        GsJob job = {.run = (1000 - lost) * (int64_t)LONG_NS / 100, .whole = 5 * LONG_NS, .room = 1};
        gs_learn(&job, before);
        if (atomic_load(&gs_turn.other) != before)
            return n;
    }
    return 0;
}

static atomic_int spins;
static void *spin(void *nothing) {
    for (atomic_store(&spins, 1); atomic_load(&spins);)
        ;
    return nothing;
}

static void start_over(void) {
    memset(&gs_turn, 0, sizeof gs_turn);
    gs_turn.next_wait = FIRST_WAIT;
}

static void turns(void) {
    GsJob brief = {.run = LONG_NS - 1, .whole = 100 * LONG_NS, .room = 1};
    for (int k = 0; k < 100; ++k) /* they say nothing */
        gs_learn(&brief, 0);
    assert(until_it_turns(0, 1000) == 0 && until_it_turns(MUCH / 2, 1000) == 0);
    assert(until_it_turns(500, 1000) == 0);                                /* ours only come late */
    pthread_t other;
    assert(pthread_create(&other, NULL, spin, NULL) == 0);
    while (!atomic_load(&spins))
        usleep(100);
    start_over();
    assert(until_it_turns(500, 1000) <= TRIAL && gs_turn.other);           /* somebody spins: the other pool */
    assert(until_it_turns(900, 1000) == TRIAL + 1 && !gs_turn.other);      /* it is worse: back */
    assert(until_it_turns(500, 1000) == FIRST_WAIT + 1 && gs_turn.other);      /* for a while */
    assert(until_it_turns(900, 1000) == TRIAL + 1 && !gs_turn.other);
    assert(until_it_turns(500, 1000) == 2 * FIRST_WAIT + 1 && gs_turn.other);  /* for twice as long */
    assert(until_it_turns(900, 1000) == TRIAL + 1 && !gs_turn.other);
    assert(until_it_turns(900, 1000) <= TRIAL && gs_turn.other);           /* something has changed: at once */
    assert(until_it_turns(0, 1000) == 0 && gs_turn.other);                 /* this time it is good, and stays */
    GsJob late = {.run = 10 * LONG_NS, .whole = 100 * LONG_NS, .room = 1}; /* one launch after a pause does not matter */
    gs_learn(&late, 1);
    assert(until_it_turns(0, 1000) == 0 && gs_turn.other);
    assert(until_it_turns(500, 1000) <= TRIAL && !gs_turn.other);          /* until it is no more */
    atomic_store(&spins, 0);
    pthread_join(other, NULL);
    start_over();
}

/* Launches that take so many times as long with helpers as alone; how many until the calling thread is to go on alone. */
static int until_alone(GsLoop *loop, int times, int most) {
    for (int n = 1; n <= most; ++n) {
        gs_weigh(loop, times * 10000, 4000, 2, 5);
        if (atomic_load(&loop->alone) > 0)
            return n;
    }
    return 0;
}

static int launches_alone(GsLoop *loop) {
    int n = 0;
    while (gs_goes_alone(loop))
        ++n;
    return n;
}

static void loops(void) {
    GsLoop *loop = gs_loop(body, 12);
    assert(loop == gs_loop(body, 12) && loop != gs_loop(body, 13) && !gs_goes_alone(loop));
    assert(until_alone(loop, 1, 1000) == 0);                                     /* helpers are of no use, but do no harm */
    gs_weigh(loop, 1000000, 0, 0, 5);                                            /* the caller came too late to run a task */
    assert(until_alone(loop, 100, 1) == 0 && until_alone(loop, 1, 100) == 0);    /* an accident */
    assert(until_alone(loop, 100, 100) == 2);                                    /* no accident */
    assert(launches_alone(loop) == FIRST_ALONE);
    for (int wait = 2 * FIRST_ALONE; wait <= MOST_ALONE; wait *= 2)
        assert(until_alone(loop, 100, 100) == 1 && launches_alone(loop) == wait); /* tried again, each time later */
    assert(until_alone(loop, 100, 100) == 1 && launches_alone(loop) == MOST_ALONE);
    assert(until_alone(loop, 0, 100) == 0);                                      /* they are good again */
    assert(until_alone(loop, 100, 100) == 3 && launches_alone(loop) == FIRST_ALONE);
}

static pthread_t caller;
static int slow(int task, GsGroup *group, void *tasks_of_others) {
    (void)task, (void)group;
    if (pthread_equal(pthread_self(), caller)) {
        for (int64_t end = gs_clock(CLOCK_MONOTONIC) + 200000; gs_clock(CLOCK_MONOTONIC) < end;)
            ;
    } else {
        atomic_fetch_add((atomic_int *)tasks_of_others, 1);
        usleep(20000); /* as if it had lost its core */
    }
    return 0;
}

/* Helpers that hold a task for long are no longer asked; the tasks are still done. */
static void held_up(void) {
    atomic_int of_others = 0;
    caller = pthread_self();
    int most = 0, alone = 0;
    for (int k = 0; k < 200 && alone < FIRST_ALONE; ++k) {
        int before = atomic_load(&of_others);
        gs_launch(NULL, NULL, 4);
        assert(gs_launch(slow, &of_others, 0) == 0);
        alone = atomic_load(&of_others) == before ? alone + 1 : 0;
        most = k;
    }
    assert(alone == FIRST_ALONE && most < 150);
}

int main(void) {
    gs_threads = &threads;
    turns();
    loops();
    gs_own.limit = 2;
    held_up();
    pthread_atfork(NULL, NULL, gs_forked);
    static const GsPool other = {foreign, NULL, 0}, either = {foreign, NULL, 1};
    for (int way = 0; way < 3; ++way) {
        pthread_t clients[5];
        atomic_store(&gs_pool, way == 1 ? &other : NULL);
        for (uintptr_t k = 0; k < 5; ++k)
            assert(pthread_create(&clients[k], NULL, client, (void *)k) == 0);
        for (int k = 0; way == 2 && k < 20; ++k) { /* the pool changes meanwhile */
            atomic_store(&gs_pool, k % 3 == 2 ? &either : k % 3 ? &other : NULL);
            atomic_store(&gs_turn.other, k % 2);
            atomic_store(&threads, 1 + k % 4);
            usleep(500);
        }
        for (int k = 0; k < 5; ++k)
            pthread_join(clients[k], NULL);
    }
    atomic_store(&gs_pool, &other);
#ifndef WITHOUT_FORK
    pid_t child = fork();
    if (child == 0) {
        assert(atomic_load(&gs_pool) == NULL && gs_own.started == 0);
        launches(3, 200);
        _exit(0);
    }
    int status;
    assert(waitpid(child, &status, 0) == child && status == 0);
#endif
    launches(9, 20);
    return 0;
}
"""

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers are started as on Linux"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc, with its sanitizers"),
]


@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_every_task_runs_once(sanitizer: str, tmp_path: Path) -> None:
    source, program = tmp_path / "launches.c", tmp_path / "launches"
    source.write_text(PROGRAM)
    flags = [
        "-std=gnu11",
        "-g",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Wno-unused-function",
        "-Werror",
        "-pthread",
        f"-I{RUNTIME}",
    ]
    flags += [f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"]
    if sanitizer == "thread":
        flags.append("-DWITHOUT_FORK")  # threads that a child starts are more than this sanitizer follows
    built = subprocess.run(["gcc", *flags, source, "-o", program], capture_output=True, text=True)
    if "cannot find" in built.stderr:
        pytest.skip("gcc comes without this sanitizer")
    assert built.returncode == 0, built.stderr
    command = ["setarch", "-R", program] if shutil.which("setarch") else [program]
    done = subprocess.run(
        command, env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, (done.returncode, done.stdout[-4000:], done.stderr[-8000:])
