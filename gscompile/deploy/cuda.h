/* How a library for GPUs runs its kernels.  Before it stand libc.h and run.h; after it, what is generated.
 *
 * The driver is opened when it is first needed.  A graph has a host function for each architecture, which TVM made: it computes grids, and
 * calls gs_launch for each kernel.  Kernels are loaded once for each graph and context, and stay. */

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

/* -- the driver -------------------------------------------------------------------------------------------------------------- */

typedef uint64_t GsAddress; /* CUdeviceptr */

#define GS_DRIVER(X)                                                                                                      \
    X(init, "cuInit", (unsigned flags))                                                                                   \
    X(error_name, "cuGetErrorName", (int code, const char **name))                                                        \
    X(device_count, "cuDeviceGetCount", (int *count))                                                                     \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                                  \
    X(retain_primary, "cuDevicePrimaryCtxRetain", (void **context, int device))                                           \
    X(current, "cuCtxGetCurrent", (void **context))                                                                       \
    X(current_device, "cuCtxGetDevice", (int *device))                                                                    \
    X(push, "cuCtxPushCurrent_v2", (void *context))                                                                       \
    X(pop, "cuCtxPopCurrent_v2", (void **context))                                                                        \
    X(load_module, "cuModuleLoadData", (void **module, const void *image))                                                \
    X(unload_module, "cuModuleUnload", (void *module))                                                                    \
    X(find_function, "cuModuleGetFunction", (void **function, void *module, const char *name))                            \
    X(launch, "cuLaunchKernel",                                                                                           \
      (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,     \
       void *stream, void **values, void **extra))                                                                        \
    X(allocate, "cuMemAlloc_v2", (GsAddress *to, size_t bytes))                                                           \
    X(free, "cuMemFree_v2", (GsAddress at))                                                                               \
    X(allocate_in_order, "cuMemAllocAsync", (GsAddress *to, size_t bytes, void *stream))                                  \
    X(free_in_order, "cuMemFreeAsync", (GsAddress at, void *stream))                                                      \
    X(clear, "cuMemsetD8Async", (GsAddress at, unsigned char value, size_t bytes, void *stream))                          \
    X(to_device, "cuMemcpyHtoD_v2", (GsAddress to, const void *from, size_t bytes))                                       \
    X(to_host, "cuMemcpyDtoHAsync_v2", (void *to, GsAddress from, size_t bytes, void *stream))                            \
    X(synchronize, "cuStreamSynchronize", (void *stream))

#define GS_MEMBER(member, symbol, parameters) int(*member) parameters;
static struct {
    GS_DRIVER(GS_MEMBER)
} gs_driver;

static pthread_once_t gs_once = PTHREAD_ONCE_INIT;
static char gs_no_driver[256]; /* why there is none */

static const char *gs_code_name(int code) {
    const char *name = NULL;
    gs_driver.error_name(code, &name);
    return name != NULL ? name : "unknown error";
}

static void gs_open_driver(void) {
    const char *lacking = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found;
    if (library == NULL) {
        snprintf(gs_no_driver, sizeof gs_no_driver, "there is no CUDA driver: %s", dlerror());
        return;
    }
#define GS_FIND(member, symbol, parameters)                   \
    found = dlsym(library, symbol);                           \
    memcpy(&gs_driver.member, &found, sizeof found);          \
    lacking = found == NULL ? symbol : lacking;
    GS_DRIVER(GS_FIND)
    int code = lacking == NULL ? gs_driver.init(0) : 0;
    if (lacking != NULL)
        snprintf(gs_no_driver, sizeof gs_no_driver, "the CUDA driver is too old: it has no %s", lacking);
    else if (code != 0)
        snprintf(gs_no_driver, sizeof gs_no_driver, "there is no usable GPU: cuInit: %s", gs_code_name(code));
}

/* -- kernels ----------------------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    int parameters, extents;
    const unsigned char *extent; /* what each extent is of: 0 to 2 of the grid, 3 to 5 of a block */
} GsDeviceKernel;

typedef struct {
    int major, minor, exact;         /* of the architecture; exact: for no later one */
    const unsigned char *cubin, *ptx; /* NULL for none */
    const GsDeviceKernel *kernels;
    int count;
    GsKernel host;
} GsImage;

typedef struct {
    const void *at;
    size_t bytes;
} GsConstant;

/* A graph's kernels and constants in a context. */
typedef struct GsLoaded {
    void *context;
    const GsImage *image;
    void *module;
    void **functions;
    GsAddress *constants;
    GsAddress kept; /* what the first call has found that did not wait: a status record and the sizes; 0 without checks */
    _Atomic int64_t calls; /* how many there were that did not wait: each has a number */
    struct GsLoaded *following;
} GsLoaded;

typedef struct {
    const GsImage *images; /* the best first */
    int count;
    const char *names; /* of architectures */
    const GsConstant *constants;
    int constant_count;
    _Atomic(GsLoaded *) loaded;
} GsDevice;

static const GsImage *gs_image_for(const GsDevice *d, int major, int minor) {
    for (int k = 0; k < d->count; ++k) {
        const GsImage *i = &d->images[k];
        if (i->cubin != NULL && i->major == major && (i->exact ? i->minor == minor : i->minor <= minor))
            return i;
    }
    for (int k = 0; k < d->count; ++k) {
        const GsImage *i = &d->images[k];
        if (i->ptx != NULL && 10 * i->major + i->minor <= 10 * major + minor)
            return i;
    }
    return NULL;
}

enum { GS_MAJOR = 75, GS_MINOR = 76 }; /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_.. */

static int gs_capability(int device, int *major, int *minor) {
    int code = gs_driver.device_attribute(major, GS_MAJOR, device);
    return code != 0 ? code : gs_driver.device_attribute(minor, GS_MINOR, device);
}

static const char *gs_device_lacks(const GsDevice *d) {
    static _Thread_local char why[256];
    int count = 0, major = 0, minor = 0;
    pthread_once(&gs_once, gs_open_driver);
    if (gs_no_driver[0] != 0)
        return gs_no_driver;
    if (gs_driver.device_count(&count) != 0 || count == 0)
        return "there is no GPU";
    for (int k = 0; k < count; ++k)
        if (gs_capability(k, &major, &minor) == 0 && gs_image_for(d, major, minor) != NULL)
            return NULL;
    snprintf(why, sizeof why, "it has code for %s, and this GPU is sm_%d%d", d->names, major, minor);
    return why;
}

#define GS_DO(member, ...)                                    \
    do {                                                      \
        int code_ = gs_driver.member(__VA_ARGS__);            \
        if (code_ != 0) {                                     \
            *failed = #member;                                \
            return code_;                                     \
        }                                                     \
    } while (0)

static size_t gs_kept_bytes(const GsGraph *g) { return sizeof(int64_t) * (size_t)(1 + 2 * g->checks + g->sizes); }

static int gs_fill(const GsGraph *g, GsDevice *d, GsLoaded *l, const char **failed) {
    int device = 0, major = 0, minor = 0;
    GS_DO(current_device, &device);
    gs_capability(device, &major, &minor);
    l->image = gs_image_for(d, major, minor);
    *failed = "find code";
    if (l->image == NULL)
        return 209; /* CUDA_ERROR_NO_BINARY_FOR_GPU */
    int fits = l->image->cubin != NULL && l->image->major == major && (!l->image->exact || l->image->minor == minor);
    GS_DO(load_module, &l->module, fits ? l->image->cubin : l->image->ptx);
    for (int k = 0; k < l->image->count; ++k)
        GS_DO(find_function, &l->functions[k], l->module, l->image->kernels[k].name);
    for (int k = 0; k < d->constant_count; ++k) {
        GS_DO(allocate, &l->constants[k], d->constants[k].bytes > 0 ? d->constants[k].bytes : 1);
        if (d->constants[k].bytes > 0)
            GS_DO(to_device, l->constants[k], d->constants[k].at, d->constants[k].bytes);
    }
    if (g->checks > 0) {
        int64_t zeros[1 + 2 * g->checks + g->sizes];
        memset(zeros, 0, sizeof zeros);
        GS_DO(allocate, &l->kept, sizeof zeros);
        GS_DO(to_device, l->kept, zeros, sizeof zeros);
    }
    return 0;
}

static void gs_drop(const GsDevice *d, GsLoaded *l) {
    for (int k = 0; k < d->constant_count && l->constants[k] != 0; ++k)
        gs_driver.free(l->constants[k]);
    if (l->kept != 0)
        gs_driver.free(l->kept);
    if (l->module != NULL)
        gs_driver.unload_module(l->module);
    free(l);
}

static GsLoaded *gs_known(GsDevice *d, void *context) {
    GsLoaded *l = atomic_load(&d->loaded);
    while (l != NULL && l->context != context)
        l = l->following;
    return l;
}

/* The kernels in the current context; NULL with an error. */
static GsLoaded *gs_load(const GsGraph *g, GsDevice *d, void *context, gs_error *error) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    GsLoaded *l = gs_known(d, context);
    if (l != NULL)
        return l;
    pthread_mutex_lock(&lock);
    l = gs_known(d, context);
    if (l == NULL) {
        const char *failed = "allocate";
        int most = 0, code = 2; /* CUDA_ERROR_OUT_OF_MEMORY */
        for (int k = 0; k < d->count; ++k)
            most = d->images[k].count > most ? d->images[k].count : most;
        l = (GsLoaded *)calloc(1, sizeof *l + sizeof(void *) * (size_t)most + sizeof(GsAddress) * (size_t)d->constant_count);
        if (l != NULL) {
            l->context = context;
            l->functions = (void **)(l + 1);
            l->constants = (GsAddress *)(l->functions + most);
            code = gs_fill(g, d, l, &failed);
        }
        if (code == 0) {
            l->following = atomic_load(&d->loaded);
            atomic_store(&d->loaded, l);
        } else {
            if (l != NULL)
                gs_drop(d, l);
            l = NULL;
            if (error != NULL)
                gs_say(gs_begin(error, GS_DEVICE), "%s: the code for %s cannot be loaded: %s: %s", g->name, d->names, failed,
                       gs_code_name(code));
        }
    }
    pthread_mutex_unlock(&lock);
    return l;
}

/* -- what host functions call ------------------------------------------------------------------------------------------------- */

static _Thread_local struct {
    const GsLoaded *loaded;
    void *stream;
    int code; /* of a launch that failed */
} gs_now;

/* A kernel of an image. */
static int gs_lookup(void *image, const char *name, void **found) {
    const GsImage *i = (const GsImage *)image;
    for (int k = 0; k < i->count; ++k)
        if (strcmp(i->kernels[k].name, name) == 0) {
            union {
                const GsDeviceKernel *kernel;
                void *handle;
            } plain = {&i->kernels[k]};
            *found = plain.handle;
            return 0;
        }
    return -1;
}

static int gs_look_once(void **handle, int (*look)(void **)) {
    void *found = NULL;
    if (__atomic_load_n(handle, __ATOMIC_ACQUIRE) != NULL)
        return 0;
    int code = look(&found);
    if (code == 0)
        __atomic_store_n(handle, found, __ATOMIC_RELEASE);
    return code;
}

/* Launches a kernel: its arguments, and then the extents of its grid and of a block. */
static int gs_launch(void *handle, GsAny *args, int32_t count, GsAny *result) {
    const GsDeviceKernel *kernel = (const GsDeviceKernel *)handle;
    unsigned extents[6] = {1, 1, 1, 1, 1, 1};
    void *values[kernel->parameters + 1];
    (void)result;
    if (count != kernel->parameters + kernel->extents)
        return -1;
    for (int k = 0; k < kernel->parameters; ++k)
        values[k] = &args[k].is;
    for (int k = 0; k < kernel->extents; ++k) {
        int64_t extent = args[kernel->parameters + k].is.number;
        extents[kernel->extent[k]] = extent < 0 || extent > INT32_MAX ? UINT32_MAX : (unsigned)extent; /* which the driver refuses */
    }
    void *function = gs_now.loaded->functions[kernel - gs_now.loaded->image->kernels];
    gs_now.code = gs_driver.launch(function, extents[0], extents[1], extents[2], extents[3], extents[4], extents[5], 0, gs_now.stream,
                                   values, NULL);
    return gs_now.code == 0 ? 0 : -1;
}

int (*__TVMFFIEnvModLookupFromImports)(void *, const char *, void **) = gs_lookup;
int (*__TVMFFIHandleInitOnce)(void **, int (*)(void **)) = gs_look_once;
int (*__TVMFFIFunctionCall)(void *, GsAny *, int32_t, GsAny *) = gs_launch;

/* -- calls ------------------------------------------------------------------------------------------------------------------- */

typedef struct {
    const GsLoaded *loaded;
    int pushed;
} GsVisit;

static void gs_leave(GsVisit *v) {
    void *context;
    if (v->pushed)
        gs_driver.pop(&context);
}

/* Finds the context that is current, or makes the first GPU's primary one current. */
static int gs_enter(GsVisit *v, const GsGraph *g, GsDevice *d, gs_error *error) {
    static _Atomic(void *) primary;
    void *context = NULL, *found = NULL;
    v->pushed = 0;
    pthread_once(&gs_once, gs_open_driver);
    if (gs_no_driver[0] != 0)
        GS_FAIL(error, GS_DEVICE, "%s: %s", g->name, gs_no_driver);
    int code = gs_driver.current(&context);
    if (code == 0 && context == NULL) {
        context = atomic_load(&primary);
        if (context == NULL && (code = gs_driver.retain_primary(&context, 0)) == 0)
            atomic_compare_exchange_strong(&primary, &found, context);
        if (code == 0 && (code = gs_driver.push(context)) == 0)
            v->pushed = 1;
    }
    if (code != 0)
        GS_FAIL(error, GS_DEVICE, "%s: there is no GPU: %s", g->name, gs_code_name(code));
    v->loaded = gs_load(g, d, context, error);
    if (v->loaded == NULL)
        gs_leave(v);
    return v->loaded == NULL ? GS_DEVICE : GS_OK;
}

/* Calls the host function, with the constants after the inputs. */
static int gs_call_host(const GsGraph *g, const GsDevice *d, const GsLoaded *l, void *stream, const GsAny *args, int count,
                        gs_error *error) {
    GsAny all[count + d->constant_count], result = {0, 0, {NULL}};
    memcpy(all, args, sizeof(GsAny) * (size_t)g->inputs);
    for (int k = 0; k < d->constant_count; ++k)
        all[g->inputs + k] = (GsAny){GS_POINTER, 0, {.number = (int64_t)l->constants[k]}};
    memcpy(all + g->inputs + d->constant_count, args + g->inputs, sizeof(GsAny) * (size_t)(count - g->inputs));
    gs_now.loaded = l;
    gs_now.stream = stream;
    gs_now.code = 0;
    if (l->image->host(NULL, all, count + d->constant_count, &result) == 0)
        return GS_OK;
    if (gs_now.code != 0)
        GS_FAIL(error, GS_DEVICE, "%s: a kernel cannot be launched: %s", g->name, gs_code_name(gs_now.code));
    GS_FAIL(error, GS_FAILED, "%s: a kernel has failed", g->name);
}

/* For who has status and scratch memory on the GPU, and reads status itself. */
GS_INLINE int gs_launch_all(const GsGraph *g, GsDevice *d, void *stream, const GsAny *args, int count, gs_error *error) {
    GsVisit visit;
    int code = gs_enter(&visit, g, d, error);
    if (code == GS_OK) {
        code = gs_call_host(g, d, visit.loaded, stream, args, count, error);
        gs_leave(&visit);
    }
    return code;
}

/* Reads a record of so many bytes, and waits for it. */
static int gs_read_status(const GsGraph *g, int64_t *status, GsAddress from, size_t bytes, void *stream, gs_error *error) {
    int code = gs_driver.to_host(status, from, bytes, stream);
    if (code == 0)
        code = gs_driver.synchronize(stream);
    if (code != 0)
        GS_FAIL(error, GS_DEVICE, "%s: kernels have failed: %s", g->name, gs_code_name(code));
    return GS_OK;
}

/* In a context, with scratch memory: a status record of so many bytes, and what kernels need. */
static int gs_run_here(const GsGraph *g, const GsDevice *d, const GsLoaded *l, const GsArray *arrays, const int64_t *size, GsAddress scratch,
                       int64_t status_bytes, const gs_options *options, GsAny *args, int64_t *status, int64_t flags, gs_error *error) {
    GsAny *arg = args;
    void *stream = options->stream;
    GsAddress kept = options->deferred ? l->kept : 0;
    size_t bytes = sizeof(int64_t) * (size_t)(1 + 2 * g->checks);
    for (int k = 0; k < g->inputs + g->outputs; ++k)
        *arg++ = (GsAny){arrays[k].at == NULL ? 0 : GS_POINTER, 0, {arrays[k].at}};
    *arg++ = (GsAny){GS_POINTER, 0, {.number = (int64_t)scratch}};
    *arg++ = (GsAny){GS_POINTER, 0, {.number = (int64_t)(kept == 0 ? scratch : kept)}}; /* what waits reads the status */
    *arg++ = (GsAny){GS_POINTER, 0, {.number = (int64_t)scratch + status_bytes}};
    for (int k = 0; k < g->sizes; ++k)
        *arg++ = (GsAny){GS_INT, 0, {.number = size[k]}};
    GsAny *threads = arg++;
    *threads = (GsAny){GS_INT, 0, {.number = kept == 0 ? 1 : -1 - atomic_fetch_add(&((GsLoaded *)l)->calls, 1)}};
    *arg++ = (GsAny){GS_INT, 0, {.number = flags}};
    int cleared = g->checks == 0 ? 0 : gs_driver.clear(scratch, 0, (size_t)status_bytes, stream);
    if (cleared != 0)
        GS_FAIL(error, GS_DEVICE, "%s: the status cannot be cleared: %s", g->name, gs_code_name(cleared));
    int code = gs_call_host(g, d, l, stream, args, (int)(arg - args), error);
    if (code != GS_OK || g->checks == 0 || kept != 0)
        return code;
    code = gs_read_status(g, status, scratch, bytes, stream, error);
    if (code == GS_OK && status[0] != 0) { /* with 0 threads it says which index that was */
        threads->is.number = 0;
        code = gs_call_host(g, d, l, stream, args, (int)(arg - args), error);
        if (code == GS_OK)
            code = gs_read_status(g, status, scratch, bytes, stream, error);
    }
    return code == GS_OK ? gs_checked(g, status, size, error) : code;
}

/* Runs the kernels on a stream; where there are checks that are not deferred, waits for them. */
static int gs_run(const GsGraph *g, GsDevice *d, const GsArray *arrays, const int64_t *size, int64_t workspace, int64_t status_bytes,
                  const gs_options *options, GsAny *args, int64_t *status, gs_error *error) {
    GsVisit visit;
    int64_t flags = gs_check_call(g, arrays, &options, error);
    if (flags < 0)
        return GS_ARGUMENT;
    int code = gs_enter(&visit, g, d, error);
    if (code != GS_OK)
        return code;
    GsAddress scratch = (GsAddress)(uintptr_t)options->workspace;
    int own = scratch == 0 ? gs_driver.allocate_in_order(&scratch, (size_t)workspace, options->stream) : 0;
    if (own != 0) {
        gs_leave(&visit);
        GS_FAIL(error, GS_MEMORY, "%s: there is no room for %lld bytes of scratch memory: %s", g->name, (long long)workspace,
                gs_code_name(own));
    }
    code = gs_run_here(g, d, visit.loaded, arrays, size, scratch, status_bytes, options, args, status, flags, error);
    if (options->workspace == NULL)
        gs_driver.free_in_order(scratch, options->stream);
    gs_leave(&visit);
    return code;
}

/* What deferred calls on a stream have found, which nobody is told again. */
GS_INLINE int gs_check_kept(const GsGraph *g, GsDevice *d, int64_t *record, void *stream, gs_error *error) {
    GsVisit visit;
    int code = gs_enter(&visit, g, d, error);
    if (code != GS_OK)
        return code;
    memset(record, 0, gs_kept_bytes(g));
    if (g->checks > 0)
        code = gs_read_status(g, record, visit.loaded->kept, gs_kept_bytes(g), stream, error);
    if (code == GS_OK && record[0] != 0) {
        int cleared = gs_driver.clear(visit.loaded->kept, 0, gs_kept_bytes(g), stream);
        cleared = cleared == 0 ? gs_driver.synchronize(stream) : cleared;
        if (cleared != 0) {
            gs_leave(&visit);
            GS_FAIL(error, GS_DEVICE, "%s: the status cannot be cleared: %s", g->name, gs_code_name(cleared));
        }
    }
    gs_leave(&visit);
    return code == GS_OK ? gs_checked(g, record, record + 1 + 2 * g->checks, error) : code;
}
