/* Parallel loops: their tasks, and the threads that run them.  Plain C11 and POSIX threads; nothing of Python or TVM is needed.
 *
 * Who includes this defines _GNU_SOURCE first, for sched_getcpu.
 *
 * Compiled code calls gs_launch for every parallel loop; before, it says by a launch without a body into how many tasks the loop is cut.
 * The tasks are dealt out one at a time to whoever asks for one, so that a thread whose core others use, or that is slow to wake
 * up, is not waited for: whoever is there does its part.  The calling thread works, too.
 *
 * The threads are this file's own pool, one for the process, or somebody else's; see gs_pool.  A thread of the own pool that finds no
 * task looks for one for SPIN_NS, then sleeps.
 *
 * Which of two pools is better depends on what else the process does: beside a library whose threads spin while they wait for work,
 * tasks on that library's threads take half of the time; on threads of a library that nobody else uses, they lose to another one's
 * that spin.  So each launch measures how much of its threads' time their tasks ran: what is lost to threads that sleep, come late, or
 * are kept from running.  The pool is kept that loses less; see gs_learn.  Another library's threads are tried only while some of the
 * process's run that are none of ours: threads that sleep cannot have kept ours from running, and each would have to be woken up.
 *
 * Where threads of others spin on every core, a task that one of ours has begun waits there for a core, up to some milliseconds, and
 * the launch with it.  A short loop is then done sooner by the calling thread alone; see gs_weigh.
 */
#ifndef GSCOMPILE_LAUNCH_H
#define GSCOMPILE_LAUNCH_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#ifdef __linux__
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

typedef struct {
    void *barrier; /* none */
    int32_t tasks;
} GsGroup; /* TVMParallelGroupEnv */

typedef int (*GsBody)(int task, GsGroup *group, void *data);

/* Calls task(job, k) for each k in [0, tasks), in any order, on any threads, and returns when all of them have returned. */
typedef void (*GsParallelFor)(void *context, int64_t tasks, void (*task)(void *job, int64_t k), void *job);

enum {
    SPIN_NS = 50000,
    MOST_PLACED = 8, /* helpers */
    STACK_BYTES = 2 << 20,
};

/* How errors travel from the thread that met one to the calling thread: TVM keeps them by thread. */
static struct {
    void (*take)(void **error);
    void (*give)(void *error);
    int (*drop)(void *error);
    void (*raise)(const char *kind, const char *message);
} gs_errors;

typedef struct {
    GsParallelFor call;
    void *context;
    int alternates; /* with the own pool */
} GsPool;

static _Atomic(const GsPool *) gs_pool;        /* NULL for this file's own; what it points to is never freed */
static const _Atomic(int64_t) gs_one = 1;
static const _Atomic(int64_t) *gs_threads = &gs_one; /* that share a call's work */

/* What a call says of its own launches; where there is none, they use what is said above. */
typedef struct {
    const GsPool *pool; /* NULL for this file's own */
    int64_t threads;
} GsCall;

static _Thread_local const GsCall *gs_call;
static _Thread_local int gs_inside;            /* a task: launches there run on this thread */
static _Thread_local int64_t gs_next = -1;     /* tasks of the next launch, where compiled code has said it */

typedef struct GsJob {
    GsBody body;
    void *data;
    GsGroup group;
    atomic_int next;     /* the first task that nobody has taken; it may grow beyond their number */
    atomic_int finished; /* tasks */
    atomic_int failed;   /* tasks */
    _Atomic(void *) error;
    int measured;
    _Atomic(int64_t) run;   /* nanoseconds of all tasks on a core */
    int64_t whole;          /* nanoseconds of the launch */
    atomic_int helpers;         /* threads of the own pool that work on it */
    int room;            /* for helpers */
    struct GsJob *following;
} GsJob;

static int64_t gs_clock(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Runs the next task; whether there was one. */
static int gs_step(GsJob *job) {
    void *error = NULL, *none = NULL;
    int k = atomic_fetch_add(&job->next, 1);
    if (k >= job->group.tasks)
        return 0;
    int64_t run = job->measured ? gs_clock(CLOCK_THREAD_CPUTIME_ID) : 0;
    ++gs_inside;
    int code = job->body(k, &job->group, job->data);
    --gs_inside;
    if (job->measured)
        atomic_fetch_add(&job->run, gs_clock(CLOCK_THREAD_CPUTIME_ID) - run);
    if (code != 0) {
        atomic_fetch_add(&job->failed, 1);
        if (gs_errors.take != NULL)
            gs_errors.take(&error);
        if (error != NULL && !atomic_compare_exchange_strong(&job->error, &none, error))
            gs_errors.drop(error);
    }
    atomic_fetch_add(&job->finished, 1);
    return 1;
}

/* Runs tasks until there are none left; how many it ran. */
static int gs_work(GsJob *job) {
    int ran = 0;
    while (gs_step(job))
        ++ran;
    return ran;
}

/* -- the own pool ----------------------------------------------------------------------------------------------------------- */

typedef struct GsHelper {
    pid_t thread;
    int works, sleeps;
    atomic_int cpu; /* where it last looked for work */
    struct GsHelper *following;
} GsHelper;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t job, left; /* a job is there; a helper has left one */
    GsHelper *helpers;        /* they stay as long as the process */
    GsJob *first;             /* jobs in the order in which they came */
    int limit, started, sleeping, waiting;
    atomic_uint jobs; /* so far: what a thread that looks for work watches */
} gs_own = {.lock = PTHREAD_MUTEX_INITIALIZER, .job = PTHREAD_COND_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

static void gs_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static pid_t gs_thread_id(void) {
#ifdef __linux__
    return (pid_t)syscall(SYS_gettid);
#else
    return 0;
#endif
}

/* The CPU that this thread is on, or -1. */
static int gs_cpu(void) {
#ifdef __linux__
    return sched_getcpu();
#else
    return -1;
#endif
}

/* Helpers that may not run on the caller's CPU for a moment.
 *
 * A thread that is woken is often put on the CPU of who wakes it, and one that runs may be moved there while another CPU idles. It then
 * waits there until the scheduler's next look, so that the caller of many short jobs does all of them alone: 0.62 ms for two tasks of
 * 0.31, in whole runs of calls.  So it is woken where the caller is not, or moved away; right after, it may run anywhere again. */
typedef struct {
    int count;
#ifdef __linux__
    pid_t thread[MOST_PLACED];
    cpu_set_t all[MOST_PLACED];
#endif
} GsPlaced;

/* Sends helpers that sleep, or were last seen on this CPU, to others; the lock is held. */
static void gs_place(GsPlaced *placed) {
    placed->count = 0;
#ifdef __linux__
    int here = gs_cpu();
    for (GsHelper *h = gs_own.helpers; h != NULL && here >= 0 && here < CPU_SETSIZE && placed->count < MOST_PLACED; h = h->following) {
        if (!h->sleeps && (h->works || atomic_load(&h->cpu) != here))
            continue;
        cpu_set_t *all = &placed->all[placed->count], others;
        if (sched_getaffinity(h->thread, sizeof *all, all) != 0 || !CPU_ISSET(here, all))
            continue;
        others = *all;
        CPU_CLR(here, &others);
        if (CPU_COUNT(&others) > 0 && sched_setaffinity(h->thread, sizeof others, &others) == 0)
            placed->thread[placed->count++] = h->thread;
    }
#endif
}

static void gs_unplace(const GsPlaced *placed) {
#ifdef __linux__
    for (int k = 0; k < placed->count; ++k)
        sched_setaffinity(placed->thread[k], sizeof placed->all[k], &placed->all[k]);
#endif
}

/* Waits a short while; whether the time is up. */
static int gs_spin(int64_t *since) {
    int64_t now = gs_clock(CLOCK_MONOTONIC);
    if (*since == 0)
        *since = now;
    for (int k = 0; k < 8; ++k)
        gs_pause();
    sched_yield(); /* to whoever waits for this core */
    return now - *since > SPIN_NS;
}

/* A job with tasks that nobody has taken, and room for a helper; the lock is held. */
static GsJob *gs_open_job(void) {
    for (GsJob *job = gs_own.first; job != NULL; job = job->following)
        if (atomic_load(&job->helpers) < job->room && atomic_load(&job->next) < job->group.tasks)
            return job;
    return NULL;
}

static void *gs_help(void *nothing) {
    GsHelper self = {.thread = gs_thread_id()};
    pthread_mutex_lock(&gs_own.lock);
    self.following = gs_own.helpers;
    gs_own.helpers = &self;
    for (;;) {
        unsigned seen = atomic_load(&gs_own.jobs);
        atomic_store(&self.cpu, gs_cpu());
        GsJob *job = gs_open_job();
        if (job != NULL) {
            atomic_fetch_add(&job->helpers, 1);
            self.works = 1;
            pthread_mutex_unlock(&gs_own.lock);
            gs_work(job);
            pthread_mutex_lock(&gs_own.lock);
            self.works = 0;
            atomic_fetch_sub(&job->helpers, 1); /* the job may be gone from here on */
            if (gs_own.waiting > 0)
                pthread_cond_broadcast(&gs_own.left);
            continue;
        }
        pthread_mutex_unlock(&gs_own.lock);
        for (int64_t since = 0; atomic_load(&gs_own.jobs) == seen && !gs_spin(&since);)
            atomic_store(&self.cpu, gs_cpu());
        pthread_mutex_lock(&gs_own.lock);
        if (atomic_load(&gs_own.jobs) == seen) {
            ++gs_own.sleeping;
            self.sleeps = 1;
            pthread_cond_wait(&gs_own.job, &gs_own.lock);
            self.sleeps = 0;
            --gs_own.sleeping;
        }
    }
    return nothing;
}

/* One more thread of the pool; signals are for the process's other threads.  The lock is held. */
static void gs_start_helper(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, &attributes, gs_help, NULL) == 0)
        ++gs_own.started;
    else
        gs_own.limit = gs_own.started; /* the system starts no more */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* Loops, by their code and tasks: whether the calling thread alone is faster than with helpers.  Loops may share an entry. */
typedef struct {
    atomic_int brief;       /* too short to learn from, so that its tasks are not measured: reading a thread's clock takes 0.6 us */
    atomic_int loss;        /* 1000 where launches with helpers take twice as long as alone: a moving average */
    atomic_int alone;       /* launches before helpers are asked again */
    atomic_int next_alone;  /* as many the next time; 0 for FIRST_ALONE */
} GsLoop;

enum {
    LOOPS_BITS = 8,
    MUCH_LOSS = 600,   /* from which the calling thread goes on alone: two bad launches, since one may be an accident */
    MOST_LOSS = 2000,  /* of one launch */
    AFTER_ALONE = 300, /* so that one bad launch is enough then */
    FIRST_ALONE = 16,  /* launches, doubled by each time that helpers are no better after it */
    MOST_ALONE = 256
};

static GsLoop gs_loops[1 << LOOPS_BITS];

static GsLoop *gs_loop(GsBody body, int32_t tasks) {
    uint64_t key = (uint64_t)(uintptr_t)body ^ ((uint64_t)(uint32_t)tasks << 48);
    return &gs_loops[(key * 0x9E3779B97F4A7C15u) >> (64 - LOOPS_BITS)];
}

/* Whether the calling thread is to do this launch alone. */
static int gs_goes_alone(GsLoop *loop) {
    int left = atomic_load_explicit(&loop->alone, memory_order_relaxed);
    if (left > 0)
        atomic_store_explicit(&loop->alone, left - 1, memory_order_relaxed);
    return left > 0;
}

/* After a launch with helpers that took so many nanoseconds, of which the calling thread ran tasks for own; it would have taken
 * alone. */
static void gs_weigh(GsLoop *loop, int64_t whole, int64_t own, int ran, int tasks) {
    if (ran == 0 || own <= 0)
        return;
    int64_t alone = own / ran * tasks, lost = alone > 0 ? (whole - alone) * 1000 / alone : 0;
    int loss = atomic_load_explicit(&loop->loss, memory_order_relaxed);
    loss += ((int)(lost < MOST_LOSS ? lost : MOST_LOSS) - loss) / 4;
    if (loss >= MUCH_LOSS) {
        int next = atomic_load_explicit(&loop->next_alone, memory_order_relaxed);
        next = next == 0 ? FIRST_ALONE : next;
        atomic_store_explicit(&loop->alone, next, memory_order_relaxed);
        atomic_store_explicit(&loop->next_alone, next < MOST_ALONE ? 2 * next : next, memory_order_relaxed);
        loss = AFTER_ALONE;
    } else if (loss < 0)
        atomic_store_explicit(&loop->next_alone, 0, memory_order_relaxed);
    atomic_store_explicit(&loop->loss, loss, memory_order_relaxed);
}

/* Whether helpers were asked. */
static int gs_run_own(GsJob *job, GsLoop *loop) {
    if (gs_goes_alone(loop)) {
        job->measured = 0;
        gs_work(job);
        return 0;
    }
    int64_t begin = gs_clock(CLOCK_MONOTONIC);
    pthread_mutex_lock(&gs_own.lock);
    while (gs_own.started < gs_own.limit && gs_own.started < job->room)
        gs_start_helper();
    GsJob **end = &gs_own.first;
    while (*end != NULL)
        end = &(*end)->following;
    *end = job;
    atomic_fetch_add(&gs_own.jobs, 1);
    int asleep = gs_own.sleeping < job->room ? gs_own.sleeping : job->room;
    GsPlaced placed;
    gs_place(&placed);
    pthread_mutex_unlock(&gs_own.lock);
    for (; asleep > 0; --asleep)
        pthread_cond_signal(&gs_own.job);
    gs_unplace(&placed);

    int64_t ready = gs_clock(CLOCK_MONOTONIC);
    int ran = gs_work(job);
    int64_t own = gs_clock(CLOCK_MONOTONIC) - ready;

    pthread_mutex_lock(&gs_own.lock);
    for (GsJob **at = &gs_own.first; *at != NULL; at = &(*at)->following)
        if (*at == job) {
            *at = job->following;
            break;
        }
    pthread_mutex_unlock(&gs_own.lock); /* nobody finds it from here on */
    for (int64_t since = 0; atomic_load(&job->helpers) > 0 && !gs_spin(&since);)
        ;
    if (atomic_load(&job->helpers) > 0) {
        pthread_mutex_lock(&gs_own.lock);
        ++gs_own.waiting;
        while (atomic_load(&job->helpers) > 0)
            pthread_cond_wait(&gs_own.left, &gs_own.lock);
        --gs_own.waiting;
        pthread_mutex_unlock(&gs_own.lock);
    }
    gs_weigh(loop, gs_clock(CLOCK_MONOTONIC) - begin, own, ran, job->group.tasks);
    return 1;
}

/* -- OpenMP ----------------------------------------------------------------------------------------------------------------- */

typedef void (*GompParallel)(void (*body)(void *data), void *data, unsigned threads, unsigned flags);

enum { MOST_OMP_THREADS = 256 };

static void gs_omp_member(void *job) { gs_work(job); }

typedef struct {
    pthread_mutex_t lock; /* held until all have been started */
} GsTrial;

static void *gs_wait_for_others(void *trial) {
    pthread_mutex_lock(&((GsTrial *)trial)->lock);
    pthread_mutex_unlock(&((GsTrial *)trial)->lock);
    return NULL;
}

/* Whether the system lets this process run so many more threads at once: where it does not, an OpenMP library ends the process. */
static int gs_can_start(int threads) {
    pthread_t started[MOST_OMP_THREADS];
    GsTrial trial = {PTHREAD_MUTEX_INITIALIZER};
    int n = 0;
    pthread_mutex_lock(&trial.lock);
    while (n < threads && pthread_create(&started[n], NULL, gs_wait_for_others, &trial) == 0)
        ++n;
    pthread_mutex_unlock(&trial.lock);
    for (int k = 0; k < n; ++k)
        pthread_join(started[k], NULL);
    return n == threads;
}

static _Thread_local int gs_omp_threads; /* of a team that this thread has had, or could have */

/* A parallel region of the OpenMP library whose GOMP_parallel this is, always of as many threads: another number would make some
 * libraries end threads and start others.  It runs nothing where no team can be had. */
__attribute__((unused)) static void gs_run_omp(void *gomp_parallel, int64_t tasks, void (*task)(void *job, int64_t k), void *job) {
    int threads = (int)(*gs_threads < MOST_OMP_THREADS ? *gs_threads : MOST_OMP_THREADS);
    (void)tasks, (void)task;
    if (threads > gs_omp_threads) {
        if (!gs_can_start(threads - 1))
            return;
        gs_omp_threads = threads;
    }
    ((GompParallel)gomp_parallel)(gs_omp_member, job, (unsigned)threads, 0);
}

/* What another pool is given to call.  Tasks go in their order whatever number it calls this with, so that each runs once. */
static void gs_any_task(void *job, int64_t k) {
    (void)k;
    gs_step(job);
}

/* -- which of two pools ----------------------------------------------------------------------------------------------------- */

enum {
    LONG_NS = 20000,   /* of a launch's tasks together, from which what they measured means something */
    MUCH = 150,        /* of 1000: time lost from which the other pool is tried */
    MORE = 50,         /* of 1000: a pool that loses so much more than the other one is worse */
    RISE = 100,        /* of 1000: so much more is lost than when the other pool was found worse that it is tried again at once */
    MOST_STEP = 500,   /* of 1000: one launch, which may come after a pause, counts for no more; see MUCH */
    TRIAL = 4,         /* launches of a trial, after its first, for which threads start or wake up */
    FIRST_WAIT = 64,   /* launches after a trial before the next one, doubled by each that fails */
    MOST_WAIT = 1 << 16,
    LOOK_NS = 2000000, /* of a launch, beside which looking whether threads of others run costs little: 0.1 ms */
    LOOK_AGAIN = 3     /* launches from one such look to the next: odd, as every other launch may follow another library's work */
};

/* What was learned; threads that learn at the same time may lose some of it. */
static struct {
    atomic_int other;   /* the pool in use */
    atomic_int lost;    /* on it, of 1000: a moving average of the time that its threads, from a launch's begin to its end, did not run
                         * tasks */
    atomic_int was;     /* the same of the pool before the trial; during one, lost is the sum of its launches' but the worst */
    atomic_int most;    /* on the pool in use, lost in one launch */
    atomic_int settled; /* what was known to be lost on it when it was chosen */
    atomic_int trial;   /* launches of a trial that are left; 0: there is none */
    atomic_int worst;   /* of those so far, lost in one of them */
    atomic_int wait, next_wait; /* launches before the next trial */
    atomic_int look;    /* launches up to the one that looks, before it begins, whether threads of others run; 0: none does */
} gs_turn = {.next_wait = FIRST_WAIT};

/* Whether a thread of this process runs that is neither the caller nor of the own pool. */
static int gs_others_run(void) {
#ifdef __linux__
    pthread_mutex_lock(&gs_own.lock);
    int unknown = gs_own.started; /* helpers that have not begun would look like threads of others */
    for (GsHelper *h = gs_own.helpers; h != NULL; h = h->following)
        --unknown;
    pthread_mutex_unlock(&gs_own.lock);
    if (unknown > 0)
        return 0;
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL)
        return 1;
    pid_t self = gs_thread_id();
    int found = 0;
    for (struct dirent *entry; !found && (entry = readdir(tasks)) != NULL;) {
        pid_t thread = (pid_t)atoi(entry->d_name);
        int ours = thread <= 0 || thread == self;
        pthread_mutex_lock(&gs_own.lock);
        for (GsHelper *h = gs_own.helpers; h != NULL; h = h->following)
            ours |= h->thread == thread;
        pthread_mutex_unlock(&gs_own.lock);
        if (ours)
            continue;
        char text[128];
        snprintf(text, sizeof text, "/proc/self/task/%d/stat", (int)thread);
        int file = open(text, O_RDONLY | O_CLOEXEC);
        if (file < 0)
            continue; /* it has ended */
        ssize_t n = read(file, text, sizeof text - 1);
        close(file);
        text[n > 0 ? n : 0] = 0;
        const char *state = strrchr(text, ')'); /* after its name, in which anything may stand */
        found = state != NULL && state[1] == ' ' && state[2] == 'R';
    }
    closedir(tasks);
    return found;
#else
    return 1;
#endif
}

static void gs_try(int other) {
    atomic_store(&gs_turn.was, atomic_load(&gs_turn.lost));
    atomic_store(&gs_turn.other, other);
    atomic_store(&gs_turn.lost, 0);
    atomic_store(&gs_turn.worst, 0);
    atomic_store(&gs_turn.trial, TRIAL + 1);
}

static void gs_end_trial(int other) {
    int lost = atomic_load(&gs_turn.lost) / (TRIAL - 1), was = atomic_load(&gs_turn.was), next_wait = atomic_load(&gs_turn.next_wait);
    if (lost > was + MORE) {
        atomic_store(&gs_turn.other, !other);
        atomic_store(&gs_turn.lost, was);
        atomic_store(&gs_turn.settled, atomic_load(&gs_turn.most));
        atomic_store(&gs_turn.wait, next_wait);
        atomic_store(&gs_turn.next_wait, next_wait < MOST_WAIT ? 2 * next_wait : next_wait);
    } else {
        atomic_store(&gs_turn.lost, lost);
        atomic_store(&gs_turn.settled, lost);
        atomic_store(&gs_turn.most, lost);
        atomic_store(&gs_turn.wait, FIRST_WAIT);
        atomic_store(&gs_turn.next_wait, FIRST_WAIT);
    }
}

/* After a launch that says nothing of its pool: one that the next trial has not to wait for. */
static void gs_pass(void) {
    int wait = atomic_load(&gs_turn.wait);
    if (wait > 0 && atomic_load(&gs_turn.trial) == 0)
        atomic_store(&gs_turn.wait, wait - 1);
}

/* After a launch: whose turn is next.  Where a pool loses much, the other one is tried, and kept unless it loses more. */
static void gs_learn(GsJob *job, int other) {
    int64_t run = atomic_load(&job->run), all = job->whole * (job->room + 1);
    if (run < LONG_NS || all <= 0 || other != atomic_load(&gs_turn.other))
        return;
    int lost = run >= all ? 0 : (int)((all - run) * 1000 / all), trial = atomic_load(&gs_turn.trial), wait = atomic_load(&gs_turn.wait);
    if (trial > 0) {
        if (trial <= TRIAL) { /* the sum of all but the worst, which may have come after a pause */
            int worst = atomic_load(&gs_turn.worst), next = lost > worst ? lost : worst;
            atomic_fetch_add(&gs_turn.lost, lost + worst - next);
            atomic_store(&gs_turn.worst, next);
        }
        atomic_store(&gs_turn.trial, trial - 1);
        if (trial == 1)
            gs_end_trial(other);
        return;
    }
    int average = atomic_load(&gs_turn.lost);
    average += (lost - average < MOST_STEP ? lost - average : MOST_STEP) / 4;
    atomic_store(&gs_turn.lost, average);
    if (lost > atomic_load(&gs_turn.most))
        atomic_store(&gs_turn.most, lost);
    if (wait > 0)
        atomic_store(&gs_turn.wait, wait - 1);
    if (average < MUCH || (wait > 0 && average <= atomic_load(&gs_turn.settled) + RISE))
        return;
    if (other || gs_others_run())
        gs_try(!other);
    else {
        atomic_store(&gs_turn.settled, average);
        atomic_store(&gs_turn.wait, FIRST_WAIT);
        if (job->whole >= LOOK_NS) /* they may have run when it began, and have gone to sleep */
            atomic_store(&gs_turn.look, 1);
    }
}

/* Before a launch on the own pool: the pool for it, which is the other one where threads of others run that may keep ours from running. */
static int gs_look(void) {
    int look = atomic_load(&gs_turn.look);
    if (look != 1 || atomic_load(&gs_turn.trial) > 0) {
        if (look > 0)
            atomic_store(&gs_turn.look, look - 1);
        return 0;
    }
    int found = gs_others_run();
    if (found)
        gs_try(1);
    atomic_store(&gs_turn.look, !found && atomic_load(&gs_turn.lost) >= MUCH ? LOOK_AGAIN : 0);
    return found;
}

/* -- launches --------------------------------------------------------------------------------------------------------------- */

static int (*gs_others)(GsBody body, void *data, int tasks); /* TVM's own launcher, if there is one */

/* TVMBackendParallelLaunch: 0, or -1 with an error raised.  Without a body: the next launch of this thread has so many tasks.
 * Code of others, which does not say so, gets what it would have got. */
static int gs_launch(GsBody body, void *data, int tasks) {
    if (body == NULL) {
        gs_next = tasks;
        return 0;
    }
    if (gs_next < 0 && gs_others != NULL)
        return gs_others(body, data, tasks);
    const GsPool *pool = gs_call != NULL ? gs_call->pool : atomic_load(&gs_pool);
    int64_t threads = gs_call != NULL ? gs_call->threads : *gs_threads, wanted = gs_next >= 0 ? gs_next : tasks > 0 ? tasks : threads;
    gs_next = -1;
    if (wanted <= 0)
        return 0;
    GsJob job = {.body = body, .data = data, .group = {.tasks = (int32_t)wanted}};
    job.room = (int)(threads < wanted ? threads : wanted) - 1;
    int alternates = pool != NULL && pool->alternates, other = pool != NULL && (!alternates || atomic_load(&gs_turn.other));
    if (job.room <= 0 || gs_inside)
        gs_work(&job);
    else {
        int shared = 1;
        GsLoop *loop = gs_loop(body, job.group.tasks);
        job.measured = alternates && !atomic_load_explicit(&loop->brief, memory_order_relaxed);
        if (job.measured && !other)
            other = gs_look();
        int64_t begin = alternates ? gs_clock(CLOCK_MONOTONIC) : 0;
        if (other) {
            pool->call(pool->context, wanted, gs_any_task, &job);
            gs_work(&job); /* what it has left */
            while (atomic_load(&job.finished) < wanted)
                sched_yield();
        } else
            shared = gs_run_own(&job, loop);
        if (alternates && !shared)
            gs_pass();
        else if (alternates) {
            job.whole = gs_clock(CLOCK_MONOTONIC) - begin;
            atomic_store_explicit(&loop->brief, job.whole * (job.room + 1) < LONG_NS, memory_order_relaxed);
            if (job.measured)
                gs_learn(&job, other);
        }
    }
    if (atomic_load(&job.failed) == 0)
        return 0;
    void *error = atomic_load(&job.error);
    if (error != NULL) {
        gs_errors.give(error);
        gs_errors.drop(error);
    } else if (gs_errors.raise != NULL)
        gs_errors.raise("RuntimeError", "a task of a parallel loop failed");
    return -1;
}

/* In a child only the thread that forked exists, and another library's pool does not know it. */
static void gs_forked(void) {
    static const pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    gs_own.lock = lock;
    gs_own.job = gs_own.left = condition;
    gs_own.first = NULL;
    gs_own.helpers = NULL;
    gs_own.started = gs_own.sleeping = gs_own.waiting = 0;
    atomic_store(&gs_pool, NULL);
}

#endif
