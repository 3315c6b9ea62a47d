/* Kernels of a GPU, launched by TVM's host code on a stream; see _fastcall.c.
 *
 * CUDA's driver is neither included nor linked: the addresses of a few of its functions come from Python.
 */
#ifndef GSCOMPILE_FASTCALL_GPU_H
#define GSCOMPILE_FASTCALL_GPU_H

#include "_fastcall_signature.h"

enum { GPU_FUNCTIONS = 8 };

/* In the order in which fastcall.py lists them. */
typedef struct {
    int (*set_stream)(int32_t device_type, int32_t device_id, void *stream, void **before); /* TVM's */
    int (*context)(void **context);
    int (*push)(void *context);
    int (*pop)(void **context);
    int (*captures)(void *stream, int *status);
    int (*to_host)(void *to, uint64_t from, size_t bytes, void *stream);
    int (*clear)(uint64_t at, unsigned char value, size_t bytes, void *stream);
    int (*synchronize)(void *stream);
    int64_t calls; /* twice those of the function so far, and one less: the slow path's numbers are even */
} Gpu;

/* Where the calls of one signature run, each after the other. */
typedef struct GpuPlace {
    Gpu *gpu;
    void *stream, *context;
    uintptr_t status, kept, scratch;
    int64_t *found;       /* on the host; NULL where calls do not wait for their checks */
    size_t bytes;         /* of each record */
    unsigned long thread; /* that has the record, where calls wait for it */
    int busy;             /* a call is being launched, or has left a status that is not zeros; changed by who holds the GIL */
    PyObject *owner;      /* of all this memory */
} GpuPlace;

/* The functions at a tuple's addresses; NULL with an exception. */
static Gpu *new_gpu(PyObject *addresses) {
    void *at[GPU_FUNCTIONS];
    if (!PyTuple_Check(addresses) || PyTuple_GET_SIZE(addresses) != GPU_FUNCTIONS) {
        PyErr_Format(PyExc_TypeError, "gpu must be None or %d addresses", GPU_FUNCTIONS);
        return NULL;
    }
    for (int k = 0; k < GPU_FUNCTIONS; ++k)
        if ((at[k] = PyLong_AsVoidPtr(PyTuple_GET_ITEM(addresses, k))) == NULL) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a function's address is 0");
            return NULL;
        }
    Gpu *gpu = PyMem_Malloc(sizeof(Gpu));
    if (gpu == NULL)
        PyErr_NoMemory();
    else {
        memcpy(gpu, at, sizeof at);
        gpu->calls = -1;
    }
    return gpu;
}

/* From (stream, context, status, kept, scratch, found, bytes, owner); NULL with an exception. */
static GpuPlace *new_place(Gpu *gpu, PyObject *parts) {
    unsigned long long stream, context, status, kept, scratch, found;
    Py_ssize_t bytes;
    PyObject *owner;
    if (!PyArg_ParseTuple(parts, "KKKKKKnO:there", &stream, &context, &status, &kept, &scratch, &found, &bytes, &owner))
        return NULL;
    if (bytes < (Py_ssize_t)sizeof(int64_t) || status == 0 || (found != 0 && kept == 0)) {
        PyErr_SetString(PyExc_ValueError, "there needs a status, and a record where calls wait for it");
        return NULL;
    }
    GpuPlace *place = PyMem_Calloc(1, sizeof(GpuPlace));
    if (place == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    *place = (GpuPlace){.gpu = gpu,
                        .stream = (void *)(uintptr_t)stream,
                        .context = (void *)(uintptr_t)context,
                        .status = (uintptr_t)status,
                        .kept = (uintptr_t)kept,
                        .scratch = (uintptr_t)scratch,
                        .found = (int64_t *)(uintptr_t)found,
                        .bytes = (size_t)bytes,
                        .thread = PyThread_get_thread_ident(),
                        .owner = Py_NewRef(owner)};
    return place;
}

static void free_place(GpuPlace *place) {
    if (place != NULL)
        Py_XDECREF(place->owner);
    PyMem_Free(place);
}

/* Whether a call by this thread is for the place: on its stream, which is not being captured in a CUDA graph. */
static int is_there(const GpuPlace *place, const View *array) {
    void *stream = NULL;
    int capturing = 1;
    if (place->busy || (place->found != NULL && place->thread != PyThread_get_thread_ident()))
        return 0;
    const ExchangeAPI *api = array->reader->api;
    if (api == NULL || api->current_work_stream == NULL
        || api->current_work_stream((int32_t)(array->device >> 32), (int32_t)array->device, &stream) != 0) {
        forget_exception();
        return 0;
    }
    return stream == place->stream && place->gpu->captures(stream, &capturing) == 0 && !capturing;
}

/* Whether the checks of the calls so far on this stream have found nothing; waits for them. */
static int found_nothing(const GpuPlace *place) {
    const Gpu *gpu = place->gpu;
    if (gpu->to_host(place->found, place->kept, place->bytes, place->stream) != 0 || gpu->synchronize(place->stream) != 0)
        return 0;
    if (place->found[0] == 0)
        return 1;
    /* the slow path runs the call once more, and says what was found */
    if (gpu->clear(place->kept, 0, place->bytes, place->stream) == 0)
        gpu->synchronize(place->stream);
    return 0;
}

/* Launches a call's kernels in the place's context, and waits for its record if such calls do; whether nothing was wrong, as far as
 * that is known.  *zeros: whether the status will be zeros again. */
static int launch(const Kernel *kernel, const GpuPlace *place, int32_t device, TVMAny *arguments, int count, int *zeros) {
    const Gpu *gpu = place->gpu;
    void *context = NULL, *before = NULL;
    TVMAny result = {0};
    *zeros = 1;
    if (gpu->context(&context) != 0 || (context != place->context && gpu->push(place->context) != 0))
        return 0;
    int right = gpu->set_stream(DLPACK_CUDA, device, place->stream, &before) == 0;
    if (right) {
        right = kernel->call(kernel->function, arguments, count, &result) == 0;
        gpu->set_stream(DLPACK_CUDA, device, before, NULL);
        if (!right) /* kernels that would have done so may not have been launched */
            *zeros = gpu->clear(place->status, 0, place->bytes, place->stream) == 0;
    }
    if (right && place->found != NULL)
        right = found_nothing(place);
    if (context != place->context)
        gpu->pop(&context);
    return right;
}

/* Runs a call in its place, without the GIL: a launch waits where a stream's queue is full, perhaps for what another thread of Python
 * has yet to launch, or for a function of Python on the stream. */
static int run_on_gpu(const Kernel *kernel, const Signature *s, const View *views, int64_t taken) {
    TVMAny arguments[MOST_ARGUMENTS];
    GpuPlace *place = s->place;
    int32_t device = (int32_t)views[s->inputs].device;
    int right, zeros, park = is_parked();
    if (place->busy) /* what was called since it was found, to make a result, has let another thread go first */
        return 0;
    memcpy(arguments, s->arguments, sizeof(TVMAny) * (size_t)s->count);
    for (int k = 0; k <= s->inputs; ++k)
        arguments[k].value.pointer = views[k].address;
    uintptr_t own[] = {place->status, place->kept, place->scratch};
    for (int k = 0; k < 3; ++k)
        arguments[s->inputs + 1 + k].value.pointer = own[k];
    arguments[s->count - 2].value.integer = place->kept == 0 ? 1 : -(place->gpu->calls += 2); /* the call's number */
    arguments[s->count - 1].value.integer = taken;
    place->busy = 1;
    ++inside;
    Py_BEGIN_ALLOW_THREADS
    if (park)
        PyThread_acquire_lock(parked, WAIT_LOCK);
    right = launch(kernel, place, device, arguments, s->count, &zeros);
    Py_END_ALLOW_THREADS
    --inside;
    place->busy = !zeros;
    return right;
}

#endif
