/* What a library for CPUs has of a system: storage and threads.  Before it stand public.h, libc.h, _launch.h and _scratch.h. */

typedef int (*GsLaunch)(GsBody body, void *data, int tasks);

static _Atomic(GsLaunch) gs_elsewhere; /* the launcher of the process that has loaded this library, for kernels that it calls itself */

static int gs_start(GsBody body, void *data, int tasks) {
    GsLaunch elsewhere = gs_call == NULL ? atomic_load(&gs_elsewhere) : NULL;
    return elsewhere != NULL ? elsewhere(body, data, tasks) : gs_launch(body, data, tasks);
}

static void *gs_allocate(uint64_t bytes) { return aligned_alloc(64, (size_t)((bytes + 63) / 64 * 64)); }

static void *gs_allocate_for_kernel(int device_type, int device, uint64_t bytes, int code, int bits) {
    (void)device_type, (void)device, (void)code, (void)bits;
    return gs_allocate(bytes);
}

static int gs_free_for_kernel(int device_type, int device, void *pointer) {
    (void)device_type, (void)device;
    free(pointer);
    return 0;
}

GsLaunch __TVMBackendParallelLaunch = gs_start;
void *(*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int) = gs_allocate_for_kernel;
int (*__TVMBackendFreeWorkspace)(int, int, void *) = gs_free_for_kernel;

/* Where a library is unloaded, nothing of it stays. */
__attribute__((destructor)) static void gs_end(void) { free(atomic_exchange(&gs_kept, NULL)); }

static pthread_once_t gs_once = PTHREAD_ONCE_INIT;
static int gs_cores = 1;

static void gs_set_up(void) {
#ifdef __linux__
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all) == 0)
        gs_cores = CPU_COUNT(&all);
    else
        gs_cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
#endif
    gs_own.limit = gs_cores - 1;
    pthread_atfork(NULL, NULL, gs_forked);
}

/* What a call has of its system. */
typedef struct {
    GsPool pool;
    GsCall call;
    const GsCall *before;
    void *scratch, *own;
    int64_t threads;
} GsVisit;

/* Before a kernel; whether there is scratch memory. */
static int gs_enter(GsVisit *v, const gs_options *options, int64_t workspace) {
    pthread_once(&gs_once, gs_set_up);
    v->own = NULL;
    v->scratch = options->workspace;
    if (workspace > 0 && v->scratch == NULL && (v->scratch = v->own = gs_take_scratch((size_t)workspace)) == NULL)
        return 0;
    v->threads = options->threads > 0 ? options->threads : gs_cores;
    if (v->threads > 4096)
        v->threads = 4096;
    v->pool = (GsPool){options->parallel_for, options->context, 0};
    v->call = (GsCall){options->parallel_for != NULL ? &v->pool : NULL, v->threads};
    v->before = gs_call;
    gs_call = &v->call;
    return 1;
}

/* After it. */
static void gs_leave(GsVisit *v) {
    gs_call = v->before;
    gs_give_scratch(v->own);
}
