/* Call signatures, results and the kernel's call; see _fastcall.c. */
#ifndef GSCOMPILE_FASTCALL_SIGNATURE_H
#define GSCOMPILE_FASTCALL_SIGNATURE_H

#include "_fastcall_arrays.h"
#include "_scratch.h"

/* -- TVM's calls, as in tvm/ffi/c_api.h ------------------------------------------------------------------------------------- */

typedef struct {
    int32_t type_index;
    uint32_t zero;
    union {
        int64_t integer;
        uintptr_t pointer;
    } value;
} TVMAny;

enum { TVM_INT = 1, TVM_POINTER = 4 };

typedef int (*TVMFunctionCall)(void *function, TVMAny *arguments, int32_t count, TVMAny *result);

typedef struct {
    TVMFunctionCall call;
    void *function;
    const int64_t *threads;
} Kernel;

enum {
    MOST_ARGUMENTS = 64,
    MOST_STATUS = 64, /* words */
    SMALL = 16384,    /* bytes of a result where its alignment matters less than how soon it is there */
    ALIGNMENT = 64,
};

/* -- call signatures -------------------------------------------------------------------------------------------------------- */

typedef struct {
    const Reader *reader;
    int64_t device;
    uint32_t dtype;
    int rank;
    int64_t nbytes;
    const int64_t *shape; /* within the signature */
} Layout;

struct GpuPlace;

typedef struct Signature {
    struct Signature *next;
    int inputs, count; /* of arrays but the output; of the function's arguments */
    int in_place;      /* the input whose storage the output may be, or -1 */
    int brief;         /* other threads may as well wait for the kernel */
    size_t workspace;  /* bytes */
    PyObject *make;    /* a result's NumPy dtype, or a tuple (callable, args, kwargs) that makes one, or NULL */
    PyObject *finish;  /* NULL, or what makes the caller's array of a NumPy result */
    struct GpuPlace *place; /* NULL on the CPU */
    TVMAny arguments[MOST_ARGUMENTS];
    Layout arrays[MOST_INPUTS + 1]; /* inputs, output */
    int64_t extents[];
} Signature;

static void free_place(struct GpuPlace *place);

static void free_signature(Signature *s) {
    free_place(s->place);
    Py_XDECREF(s->make);
    Py_XDECREF(s->finish);
    PyMem_Free(s);
}

/* Fill in what the function is called with but for addresses, threads and flags. */
static int set_arguments(Signature *s, PyObject *numbers, int on_gpu) {
    Py_ssize_t sizes = PyTuple_GET_SIZE(numbers);
    int at = s->inputs + 3 + on_gpu; /* after inputs, output, status, what a GPU keeps, and workspace */
    if (at + sizes + 2 > MOST_ARGUMENTS) {
        PyErr_SetString(PyExc_ValueError, "too many sizes");
        return -1;
    }
    for (int k = 0; k < at; ++k)
        s->arguments[k] = (TVMAny){.type_index = TVM_POINTER};
    for (Py_ssize_t k = 0; k < sizes; ++k) {
        int64_t n = PyLong_AsLongLong(PyTuple_GET_ITEM(numbers, k));
        if (n == -1 && PyErr_Occurred())
            return -1;
        s->arguments[at++] = (TVMAny){.type_index = TVM_INT, .value.integer = n};
    }
    s->arguments[at++] = (TVMAny){.type_index = TVM_INT};
    s->arguments[at++] = (TVMAny){.type_index = TVM_INT};
    s->count = at;
    return 0;
}

/* A signature of arrays that were read; NULL with an exception. */
static Signature *new_signature(const View *views, int inputs, PyObject *numbers, int on_gpu) {
    size_t extents = 0;
    for (int k = 0; k <= inputs; ++k)
        extents += (size_t)views[k].rank;
    Signature *s = PyMem_Calloc(1, sizeof(Signature) + sizeof(int64_t) * extents);
    if (s == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    s->inputs = inputs;
    int64_t *at = s->extents;
    for (int k = 0; k <= inputs; ++k) {
        const View *v = &views[k];
        int64_t nbytes = is_empty(v) ? 0 : v->itemsize; /* other extents of an empty array may be as large as they like */
        for (int axis = 0; axis < v->rank; ++axis) {
            at[axis] = v->shape[axis];
            nbytes *= nbytes == 0 ? 1 : v->shape[axis];
        }
        s->arrays[k] = (Layout){
            .reader = v->reader, .device = v->device, .dtype = v->dtype, .rank = v->rank, .nbytes = nbytes, .shape = at};
        at += v->rank;
    }
    if (set_arguments(s, numbers, on_gpu) != 0) {
        free_signature(s);
        return NULL;
    }
    return s;
}

static int has_extents(const View *v, const Layout *want) {
    if (v->rank != want->rank)
        return 0;
    for (int k = 0; k < want->rank; ++k)
        if (v->shape[k] != want->shape[k])
            return 0;
    return 1;
}

static int agrees(const View *v, const Layout *want) {
    return v->reader == want->reader && v->device == want->device && v->dtype == want->dtype && has_extents(v, want);
}

static int is_there(const struct GpuPlace *place, const View *array);

static const Signature *find(const Signature *first, const View *views, int inputs, int with_out) {
    for (const Signature *s = first; s != NULL; s = s->next) {
        int count = inputs + with_out, k = 0;
        if (s->inputs != inputs || (!with_out && s->make == NULL))
            continue;
        while (k < count && agrees(&views[k], &s->arrays[k]))
            ++k;
        if (k == count && (s->place == NULL || is_there(s->place, &views[0])))
            return s;
    }
    return NULL;
}

/* NumPy storage for a result; larger ones begin at a multiple of a cache line, as do those that another library adopts. */
static PyObject *new_numpy(const Signature *s, PyArray_Descr *dtype) {
    const Layout *out = &s->arrays[s->inputs];
    npy_intp *shape = (npy_intp *)out->shape;
    Py_INCREF(dtype);
    if (out->nbytes <= SMALL && s->finish == NULL)
        return PyArray_Empty(out->rank, shape, dtype, 0);
    npy_intp room = out->nbytes + ALIGNMENT - 1;
    PyObject *storage = PyArray_SimpleNew(1, &room, NPY_UINT8);
    if (storage == NULL) {
        Py_DECREF(dtype);
        return NULL;
    }
    char *begin = PyArray_BYTES((PyArrayObject *)storage);
    begin += -(uintptr_t)begin % ALIGNMENT;
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, dtype, out->rank, shape, NULL, begin, NPY_ARRAY_CARRAY, NULL);
    if (array == NULL) {
        Py_DECREF(storage);
        return NULL;
    }
    if (PyArray_SetBaseObject((PyArrayObject *)array, storage) != 0) /* takes the reference */
        Py_CLEAR(array);
    return array;
}

/* A new result, and its view; NULL, perhaps without an exception, where that does not work out. */
static PyObject *new_result(const Signature *s, View *v) {
    PyObject *array;
    if (PyTuple_Check(s->make))
        array = PyObject_Call(PyTuple_GET_ITEM(s->make, 0), PyTuple_GET_ITEM(s->make, 1), PyTuple_GET_ITEM(s->make, 2));
    else
        array = new_numpy(s, (PyArray_Descr *)s->make);
    if (array == NULL || read_array(array, v, 0) != 0) {
        Py_XDECREF(array);
        return NULL;
    }
    if (!v->usable || !v->writable || v->device != s->arrays[s->inputs].device || !has_extents(v, &s->arrays[s->inputs])) {
        release(v, 1);
        Py_CLEAR(array);
    }
    return array;
}

/* Say to the library of an array that a kernel is about to write it; -1 with an exception. */
static int tell_written(const Reader *reader, PyObject *out) {
    PyObject *answer = reader->written == NULL ? Py_NewRef(Py_None) : PyObject_CallOneArg(reader->written, out);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

/* Whether the output overlaps no input, or is the one that it may be, which sets *taken. */
static int is_apart(const Signature *s, const View *views, int64_t *taken) {
    uintptr_t begin = views[s->inputs].address, end = begin + (uintptr_t)s->arrays[s->inputs].nbytes;
    *taken = 0;
    if (begin == end)
        return 1;
    for (int k = 0; k < s->inputs; ++k) {
        uintptr_t from = views[k].address, to = from + (uintptr_t)s->arrays[k].nbytes;
        if (from == to || from >= end || begin >= to)
            continue;
        if (from != begin || k != s->in_place)
            return 0;
        *taken = 1;
    }
    return 1;
}

/* How many threads are inside a kernel without the GIL; once the process exits, the thread that ends it, and a lock that it holds and
 * that parks all others before a kernel: what a kernel uses is taken away while they would run. */
static int inside;
static unsigned long leaver;
static PyThread_type_lock parked;

/* Whether this thread must not enter a kernel any more. */
static int is_parked(void) {
    return parked != NULL && PyThread_get_thread_ident() != leaver;
}

/* Runs the kernel with scratch memory; whether nothing was wrong.  One that found an index out of range has not changed an output that is an input. */
static int run_kernel(const Kernel *kernel, const Signature *s, const View *views, int64_t taken) {
    TVMAny arguments[MOST_ARGUMENTS], result = {0};
    int64_t status[MOST_STATUS];
    int failed;
    void *scratch = NULL;
    if (s->workspace > 0 && (scratch = gs_take_scratch(s->workspace)) == NULL)
        return 0;
    status[0] = 0;
    memcpy(arguments, s->arguments, sizeof(TVMAny) * (size_t)s->count);
    for (int k = 0; k <= s->inputs; ++k)
        arguments[k].value.pointer = views[k].address;
    arguments[s->inputs + 1].value.pointer = (uintptr_t)status;
    arguments[s->inputs + 2].value.pointer = (uintptr_t)scratch;
    arguments[s->count - 2].value.integer = *kernel->threads;
    arguments[s->count - 1].value.integer = taken;
    if (s->brief) {
        failed = kernel->call(kernel->function, arguments, s->count, &result);
    } else {
        int park = is_parked();
        ++inside;
        Py_BEGIN_ALLOW_THREADS
        if (park)
            PyThread_acquire_lock(parked, WAIT_LOCK);
        failed = kernel->call(kernel->function, arguments, s->count, &result);
        Py_END_ALLOW_THREADS
        --inside;
    }
    gs_give_scratch(scratch);
    return !failed && !status[0];
}

#endif
