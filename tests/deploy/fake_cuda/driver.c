/* A libcuda.so.1 for tests: one GPU, whose memory is the process's, and whose threads run one after the other.
 *
 * Kernels are functions of the library that FAKE_CUDA_KERNELS names, compiled from the CUDA source by a C++ compiler; see device.h.
 * FAKE_CUDA_ARCH: its architecture (90); 0: there is no GPU.  FAKE_CUDA_FAILS: a function that fails.  Calls are said on stderr. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    unsigned x, y, z;
} Index;

typedef struct {
    void (*run)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
    int parameters;
    char name[100];
} Function;

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local void *context;
static char primary;

static int arch(void) {
    const char *given = getenv("FAKE_CUDA_ARCH");
    return given == NULL ? 90 : atoi(given);
}

static int fails(const char *function) {
    const char *given = getenv("FAKE_CUDA_FAILS");
    return given != NULL && strcmp(given, function) == 0 ? 1 : 0;
}

static void *symbol(const char *name, const char *end) {
    static void *kernels;
    char whole[200];
    snprintf(whole, sizeof whole, "%s%s", name, end);
    if (kernels == NULL && (kernels = dlopen(getenv("FAKE_CUDA_KERNELS"), RTLD_NOW)) == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        abort();
    }
    return dlsym(kernels, whole);
}

#define FAKE __attribute__((visibility("default"))) int

FAKE cuInit(unsigned flags) { return flags != 0 || arch() == 0 ? 100 : fails("cuInit"); }

FAKE cuGetErrorName(int code, const char **name) {
    *name = code == 1 ? "CUDA_ERROR_INVALID_VALUE" : code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 100 ? "CUDA_ERROR_NO_DEVICE"
          : code == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU" : NULL;
    return *name == NULL;
}

FAKE cuDeviceGetCount(int *count) {
    *count = arch() != 0;
    return 0;
}

FAKE cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 75 ? arch() / 10 : attribute == 76 ? arch() % 10 : -1;
    return device != 0 || *value < 0;
}

FAKE cuDevicePrimaryCtxRetain(void **found, int device) {
    fprintf(stderr, "retain %d\n", device);
    *found = &primary;
    return fails("cuDevicePrimaryCtxRetain");
}

FAKE cuCtxGetCurrent(void **found) {
    *found = context;
    return 0;
}

FAKE cuCtxGetDevice(int *device) {
    *device = 0;
    return context == NULL;
}

FAKE cuCtxPushCurrent_v2(void *given) {
    context = given;
    return 0;
}

FAKE cuCtxPopCurrent_v2(void **found) {
    *found = context;
    context = NULL;
    return 0;
}

FAKE cuModuleLoadData(void **module, const void *image) {
    int is_cubin = memcmp(image, "\x7f" "ELF", 4) == 0;
    const char *target = is_cubin ? NULL : strstr((const char *)image, ".target sm_");
    unsigned flags = ((const unsigned *)image)[12]; /* e_flags */
    fprintf(stderr, "load %s %d\n", is_cubin ? "cubin" : "ptx", is_cubin ? (int)(flags >> 8 & 0xff) : atoi(target + 11));
    *module = &primary;
    return context == NULL ? 1 : fails("cuModuleLoadData");
}

FAKE cuModuleUnload(void *module) {
    fprintf(stderr, "unload\n");
    return module != &primary;
}

FAKE cuModuleGetFunction(void **function, void *module, const char *name) {
    Function *f = calloc(1, sizeof *f);
    void *found = symbol(name, ""), *parameters = symbol(name, "_parameters");
    if (module == NULL || found == NULL || parameters == NULL)
        return 500;
    memcpy(&f->run, &found, sizeof found);
    f->parameters = *(int *)parameters;
    snprintf(f->name, sizeof f->name, "%s", name);
    *function = f; /* as long as the process */
    return fails("cuModuleGetFunction");
}

FAKE cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                    void *stream, void **values, void **extra) {
    const Function *f = function;
    Index *block = symbol("blockIdx", ""), *thread = symbol("threadIdx", "");
    int64_t v[12] = {0};
    fprintf(stderr, "launch %s grid %u %u %u block %u %u %u stream %p:", f->name, gx, gy, gz, bx, by, bz, stream);
    for (int k = 0; k < f->parameters; ++k) {
        v[k] = *(int64_t *)values[k];
        fprintf(stderr, " %lld", (long long)v[k]);
    }
    fprintf(stderr, "\n");
    if (extra != NULL || shared != 0 || context == NULL || gx == 0 || gx > INT32_MAX || bx * by * bz > 1024 || fails("cuLaunchKernel"))
        return 1;
    pthread_mutex_lock(&one);
    for (block->z = 0; block->z < gz; ++block->z)
        for (block->y = 0; block->y < gy; ++block->y)
            for (block->x = 0; block->x < gx; ++block->x)
                for (thread->z = 0; thread->z < bz; ++thread->z)
                    for (thread->y = 0; thread->y < by; ++thread->y)
                        for (thread->x = 0; thread->x < bx; ++thread->x)
                            f->run(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11]);
    pthread_mutex_unlock(&one);
    return 0;
}

static int allocate(uint64_t *to, size_t bytes) {
    void *found = bytes == 0 ? NULL : aligned_alloc(256, (bytes + 255) / 256 * 256);
    *to = (uint64_t)(uintptr_t)found;
    return found == NULL ? 2 : 0;
}

FAKE cuMemAlloc_v2(uint64_t *to, size_t bytes) { return context == NULL ? 1 : allocate(to, bytes); }

FAKE cuMemFree_v2(uint64_t at) {
    free((void *)(uintptr_t)at);
    return 0;
}

FAKE cuMemAllocAsync(uint64_t *to, size_t bytes, void *stream) {
    fprintf(stderr, "allocate %zu stream %p\n", bytes, stream);
    return context == NULL ? 1 : fails("cuMemAllocAsync") ? 2 : allocate(to, bytes);
}

FAKE cuMemFreeAsync(uint64_t at, void *stream) {
    fprintf(stderr, "free stream %p\n", stream);
    free((void *)(uintptr_t)at);
    return 0;
}

FAKE cuMemsetD8Async(uint64_t at, unsigned char value, size_t bytes, void *stream) {
    fprintf(stderr, "clear %zu stream %p\n", bytes, stream);
    memset((void *)(uintptr_t)at, value, bytes);
    return fails("cuMemsetD8Async");
}

FAKE cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
    fprintf(stderr, "upload %zu\n", bytes);
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

FAKE cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
    fprintf(stderr, "read %zu stream %p\n", bytes, stream);
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return 0;
}

FAKE cuStreamSynchronize(void *stream) {
    fprintf(stderr, "wait stream %p\n", stream);
    return fails("cuStreamSynchronize");
}
