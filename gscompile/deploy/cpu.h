/* How a library for CPUs runs its kernels.  Before it stand run.h, and hosted.h or freestanding.h; after it, what is generated. */

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__) && __STDC_HOSTED__
#include <sys/auxv.h>
#endif

/* -- the CPU ----------------------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    uint32_t leaf, word, bit; /* x86: of cpuid, word 0 to 3 for eax to edx; aarch64: the bit of AT_HWCAP */
    uint32_t state;           /* what of XCR0 must be set */
} GsFeature;

static int gs_has(const GsFeature *f) {
#if defined(__x86_64__) || defined(__i386__)
    uint32_t r[4] = {0, 0, 0, 0};
    if (!__get_cpuid_count(f->leaf, 0, &r[0], &r[1], &r[2], &r[3]) || !(r[f->word] >> f->bit & 1))
        return 0;
    if (f->state == 0)
        return 1;
    if (!__get_cpuid_count(1, 0, &r[0], &r[1], &r[2], &r[3]) || !(r[2] >> 27 & 1)) /* osxsave */
        return 0;
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & f->state) == f->state;
#elif defined(__aarch64__) && defined(__linux__) && __STDC_HOSTED__
    return (int)(getauxval(AT_HWCAP) >> f->bit & 1);
#else
    (void)f;
    return 1;
#endif
}

/* The first feature that this CPU lacks; NULL for none.  A list ends without a name. */
static const GsFeature *gs_lacks(const GsFeature *f) {
    for (; f->name != NULL; ++f)
        if (!gs_has(f))
            return f;
    return NULL;
}

/* -- calls --------------------------------------------------------------------------------------------------------------------- */

/* Runs a kernel.  args: room for its arguments; status: for what its checks say. */
static int gs_run(const GsGraph *g, GsKernel kernel, const GsArray *arrays, const int64_t *size, int64_t workspace,
                  const gs_options *options, GsAny *args, int64_t *status, gs_error *error) {
    GsAny result = {0, 0, {NULL}}, *arg = args;
    int64_t flags = gs_check_call(g, arrays, &options, error);
    if (flags < 0)
        return GS_ARGUMENT;
    GsVisit visit;
    if (!gs_enter(&visit, options, workspace))
        GS_FAIL(error, GS_MEMORY, "%s: there is no room for %lld bytes of scratch memory", g->name, (long long)workspace);
    for (int k = 0; k < g->inputs; ++k)
        (arg++)->is.pointer = arrays[k].at;
    for (int k = 0; k < g->outputs; ++k)
        (arg++)->is.pointer = arrays[g->inputs + k].at;
    (arg++)->is.pointer = status;
    (arg++)->is.pointer = visit.scratch;
    for (int k = 0; k < g->sizes; ++k)
        (arg++)->is.number = size[k];
    (arg++)->is.number = visit.threads;
    (arg++)->is.number = flags;
    status[0] = 0;
    int code = kernel(NULL, args, (int32_t)(arg - args), &result);
    gs_leave(&visit);
    if (code != 0)
        GS_FAIL(error, GS_FAILED, "%s: a kernel has failed", g->name);
    return gs_checked(g, status, size, error);
}
