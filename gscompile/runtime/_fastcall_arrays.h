/* Arrays of any library as address, extents and dtype; see _fastcall.c. */
#ifndef GSCOMPILE_FASTCALL_ARRAYS_H
#define GSCOMPILE_FASTCALL_ARRAYS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef Py_GIL_DISABLED
#error "the list of signatures relies on the GIL: free-threaded Python takes the slow path"
#endif

#define NPY_NO_DEPRECATED_API NPY_1_25_API_VERSION
#define NPY_TARGET_VERSION NPY_1_25_API_VERSION
#include <numpy/arrayobject.h>

#include <stdint.h>
#include <string.h>

_Static_assert(sizeof(npy_intp) == sizeof(int64_t), "extents of NumPy and of DLPack are compared as the same words");

/* -- the DLPack C exchange API, as in dlpack/dlpack.h 1.3 ------------------------------------------------------------------- */

typedef struct {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* in elements; no strides: C order */
    uint64_t byte_offset;
} DLTensor;

typedef struct ExchangeHeader {
    uint32_t major, minor;
    struct ExchangeHeader *previous; /* an older version of the table, or NULL */
} ExchangeHeader;

typedef struct {
    ExchangeHeader header;
    void (*managed_tensor_allocator)(void);
    void (*managed_tensor_from_py_object_no_sync)(void);
    void (*managed_tensor_to_py_object_no_sync)(void);
    int (*dltensor_from_py_object_no_sync)(void *object, DLTensor *out); /* may be NULL */
    int (*current_work_stream)(int32_t device_type, int32_t device_id, void **stream);
} ExchangeAPI;

enum { DLPACK_MAJOR = 1, DLPACK_CPU = 1, DLPACK_CUDA = 2, DLPACK_INT = 0, DLPACK_UINT = 1, DLPACK_BOOL = 6 };

/* The table of a capsule called dlpack_exchange_api, in a version that is known here; NULL with an exception. */
static const ExchangeAPI *exchange_api(PyObject *capsule) {
    const ExchangeHeader *header = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    if (header == NULL)
        return NULL;
    while (header != NULL && header->major != DLPACK_MAJOR)
        header = header->previous;
    const ExchangeAPI *api = (const ExchangeAPI *)header;
    if (api == NULL || api->dltensor_from_py_object_no_sync == NULL) {
        PyErr_SetString(PyExc_ValueError, "the exchange API is of another version, or does not fill in tensors");
        return NULL;
    }
    return api;
}

/* -- reading arrays --------------------------------------------------------------------------------------------------------- */

enum { MOST_INPUTS = 32, MOST_READERS = 32, MOST_AXES = 8, MOST_CHECKS = 2 };

typedef enum { NUMPY, EXCHANGE, BUFFER } Protocol;

/* What must hold of an array for its storage to be all there is to it: question(array), or else otherwise(), is this very object. */
typedef struct {
    PyObject *question, *answer, *otherwise; /* the last may be NULL */
} Check;

/* How arrays of one type are read.  A subclass is another type. */
typedef struct {
    PyTypeObject *type;
    Protocol protocol;
    const ExchangeAPI *api;
    Check checks[MOST_CHECKS];
    int check_count;
    int whole;         /* the checks concern integers and bools, too */
    PyObject *written; /* NULL, or is called with an array that a kernel is about to write */
    int writable;
} Reader;

static Reader readers[MOST_READERS]; /* [0] is NumPy's; an entry is complete before it is counted, and then stays */
static int reader_count;

typedef struct {
    const Reader *reader;
    uintptr_t address;
    int64_t shape[MOST_AXES]; /* a copy: while a later array is read, another thread may give this one other extents */
    int64_t itemsize;
    int64_t device; /* DLPack's type, in the upper half, and number */
    uint32_t dtype; /* a word that tells the reader's dtypes apart */
    int rank;
    int usable; /* C order, aligned, native byte order, on the CPU or a CUDA device */
    int writable;
    int held; /* buffer has to be released */
    Py_buffer buffer;
} View;

static int is_compact(const DLTensor *t) {
    int64_t step = 1;
    for (int k = 0; k < t->ndim; ++k)
        if (t->shape[k] == 0)
            return 1;
    for (int k = t->ndim - 1; t->strides != NULL && k >= 0; --k) {
        if (t->shape[k] != 1 && t->strides[k] != step)
            return 0;
        step *= t->shape[k];
    }
    return 1;
}

/* Whether the extents fit into the view. */
static int set_shape(View *v, int rank, const int64_t *shape) {
    v->rank = rank;
    for (int k = 0; k < rank && k < MOST_AXES; ++k)
        v->shape[k] = shape[k];
    return rank <= MOST_AXES;
}

static int64_t device_word(int32_t type, int32_t id) {
    return (int64_t)type << 32 | (type == DLPACK_CPU ? 0 : id);
}

static int is_empty(const View *v) {
    for (int k = 0; k < v->rank; ++k)
        if (v->shape[k] == 0)
            return 1;
    return 0;
}

/* 1: it holds; 0: it does not; -1: an exception is set.  Of an answer only its identity matters, and the wanted one is kept. */
static int holds(const Check *check, PyObject *x) {
    PyObject *answer = PyObject_CallOneArg(check->question, x);
    Py_XDECREF(answer);
    if (answer != NULL && answer != check->answer && check->otherwise != NULL) {
        answer = PyObject_CallNoArgs(check->otherwise);
        Py_XDECREF(answer);
    }
    return answer == NULL ? -1 : answer == check->answer;
}

static int read_exchange(const Reader *reader, PyObject *x, View *v, int check) {
    DLTensor t = {0};
    if (reader->api->dltensor_from_py_object_no_sync(x, &t) != 0)
        return -1;
    int whole = t.code == DLPACK_INT || t.code == DLPACK_UINT || t.code == DLPACK_BOOL;
    for (int k = 0; check && (!whole || reader->whole) && k < reader->check_count; ++k) {
        int answer = holds(&reader->checks[k], x);
        if (answer != 1)
            return answer < 0 ? -1 : 1;
    }
    v->address = (uintptr_t)t.data + t.byte_offset;
    v->itemsize = t.bits / 8;
    v->dtype = t.code | (uint32_t)t.bits << 8 | (uint32_t)t.lanes << 16;
    v->device = device_word(t.device_type, t.device_id);
    v->writable = reader->writable;
    v->usable = set_shape(v, t.ndim, t.shape) && (t.device_type == DLPACK_CPU || t.device_type == DLPACK_CUDA) && t.bits >= 8
                && is_compact(&t) && (is_empty(v) || (t.data != NULL && v->address % (uintptr_t)v->itemsize == 0));
    return 0;
}

static int read_buffer(PyObject *x, View *v) {
    if (PyObject_GetBuffer(x, &v->buffer, PyBUF_ND | PyBUF_FORMAT) != 0)
        return -1;
    v->held = 1;
    v->address = (uintptr_t)v->buffer.buf;
    v->itemsize = v->buffer.itemsize;
    const char *format = v->buffer.format != NULL ? v->buffer.format : "B";
    v->dtype = (uint32_t)v->itemsize;
    for (int k = 0; k < 3 && format[k]; ++k)
        v->dtype = v->dtype << 8 | (unsigned char)format[k];
    v->writable = !v->buffer.readonly;
    v->usable = set_shape(v, v->buffer.ndim, (const int64_t *)v->buffer.shape) && v->itemsize > 0
                && (is_empty(v) || v->address % (uintptr_t)v->itemsize == 0);
    return 0;
}

/* 0: v is filled, and borrows x; 1: no reader knows the array's type, or a check does not hold; -1: an exception is set. */
static int read_array(PyObject *x, View *v, int check) {
    const Reader *reader = NULL;
    v->held = 0;
    for (int k = 0; k < reader_count && reader == NULL; ++k)
        if (readers[k].type == Py_TYPE(x))
            reader = &readers[k];
    if (reader == NULL)
        return 1;
    v->reader = reader;
    v->device = device_word(DLPACK_CPU, 0);
    if (reader->protocol == NUMPY) {
        PyArrayObject *array = (PyArrayObject *)x;
        v->address = (uintptr_t)PyArray_DATA(array);
        v->itemsize = PyArray_ITEMSIZE(array);
        v->dtype = (uint32_t)PyArray_TYPE(array);
        /* Of dates, text and records the type number does not say all: the slow path's. */
        v->usable = !PyTypeNum_ISFLEXIBLE((int)v->dtype) && !PyTypeNum_ISDATETIME((int)v->dtype)
                    && set_shape(v, PyArray_NDIM(array), (const int64_t *)PyArray_DIMS(array)) && PyArray_ISNOTSWAPPED(array)
                    && PyArray_CHKFLAGS(array, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED)
                    && !(PyArray_ISCOMPLEX(array) && v->address % 8); /* NumPy aligns complex64 as two numbers */
        v->writable = PyArray_ISWRITEABLE(array);
        return 0;
    }
    return reader->protocol == EXCHANGE ? read_exchange(reader, x, v, check) : read_buffer(x, v);
}

/* Whether all are on the same device of a type; on a GPU all of one library, whose stream is the only one that is asked for. */
static int are_on_one(const View *views, int count, int32_t type) {
    for (int k = 0; k < count; ++k)
        if (views[k].device != views[0].device || (type != DLPACK_CPU && views[k].reader->api != views[0].reader->api))
            return 0;
    return views[0].device >> 32 == type;
}

static int are_aligned(const View *views, int count, uintptr_t alignment) {
    for (int k = 0; k < count; ++k)
        if (alignment > 1 && views[k].address % alignment != 0)
            return 0;
    return 1;
}

static void release(View *views, int count) {
    for (int k = 0; k < count; ++k)
        if (views[k].held)
            PyBuffer_Release(&views[k].buffer);
}

/* Forget an exception after which the slow path is to look; one that is none of an array's, an interrupt, stays. */
static void forget_exception(void) {
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
}

/* Reads inputs, and an output that is not NULL; whether a kernel can use them all.  The views have to be released if so. */
static int read_arrays(PyObject *inputs, PyObject *out, View *views) {
    int given = (int)PyTuple_GET_SIZE(inputs), count = given + (out != NULL);
    for (int k = 0; k < count; ++k) {
        int unread = read_array(k < given ? PyTuple_GET_ITEM(inputs, k) : out, &views[k], 1);
        if (unread || !views[k].usable || (k == given && !views[k].writable)) {
            forget_exception();
            release(views, k + !unread);
            return 0;
        }
    }
    return 1;
}

#endif
