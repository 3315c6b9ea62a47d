/* The threads that compiled code shares its work among, for Python; see pools.py and _launch.h. */
#define PY_SSIZE_T_CLEAN
#define _GNU_SOURCE
#include <Python.h>

#ifdef __linux__
#include <link.h>
#endif

#include "_launch.h"

static void *pointer(unsigned long long address) { return (void *)(uintptr_t)address; }

PyDoc_STRVAR(connect_doc, "connect(threads, others, take, give, drop, raise_)\n--\n\nSay where things are.  See _launch.pyi.");

static PyObject *connect(PyObject *module, PyObject *args) {
    unsigned long long threads, others, take, give, drop, raise;
    if (!PyArg_ParseTuple(args, "KKKKKK:connect", &threads, &others, &take, &give, &drop, &raise))
        return NULL;
    gs_others = (int (*)(GsBody, void *, int))pointer(others);
    gs_threads = pointer(threads);
    gs_errors.take = (void (*)(void **))pointer(take);
    gs_errors.give = (void (*)(void *))pointer(give);
    gs_errors.drop = (int (*)(void *))pointer(drop);
    gs_errors.raise = (void (*)(const char *, const char *))pointer(raise);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(use_doc, "use(call, context, alternates)\n--\n\nWhose threads run tasks from the next launch on.  See _launch.pyi.");

static PyObject *use(PyObject *module, PyObject *args) {
    unsigned long long call, context;
    int alternates;
    GsPool *pool = NULL;
    if (!PyArg_ParseTuple(args, "KKp:use", &call, &context, &alternates))
        return NULL;
    if (call != 0) {
        if ((pool = malloc(sizeof(GsPool))) == NULL) /* for good: another thread may be about to read it */
            return PyErr_NoMemory();
        *pool = (GsPool){(GsParallelFor)pointer(call), pointer(context), alternates};
    }
    atomic_store(&gs_pool, pool);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(limit_doc, "limit(helpers)\n--\n\nStart at most so many threads; returns how many there are.");

static PyObject *limit(PyObject *module, PyObject *number) {
    long helpers = PyLong_AsLong(number);
    if (helpers == -1 && PyErr_Occurred())
        return NULL;
    pthread_mutex_lock(&gs_own.lock);
    gs_own.limit = (int)helpers;
    helpers = gs_own.started;
    pthread_mutex_unlock(&gs_own.lock);
    return PyLong_FromLong(helpers);
}

#ifdef __linux__
typedef struct {
    char *names; /* each ends with a 0 */
    size_t length;
} Names;

static int add_name(struct dl_phdr_info *library, size_t size, void *data) {
    Names *found = data;
    size_t length = strlen(library->dlpi_name) + 1;
    char *names = realloc(found->names, found->length + length);
    if (names == NULL)
        return 1;
    memcpy(names + found->length, library->dlpi_name, length);
    *found = (Names){names, found->length + length};
    return 0;
}
#endif

PyDoc_STRVAR(libraries_doc, "libraries()\n--\n\nThe files of the libraries that this process has loaded.  See _launch.pyi.");

static PyObject *libraries(PyObject *module, PyObject *none) {
#ifdef __linux__
    Names found = {NULL, 0};
    int failed;
    Py_BEGIN_ALLOW_THREADS /* the loader's lock may be held by a thread that waits for the interpreter */
    failed = dl_iterate_phdr(add_name, &found);
    Py_END_ALLOW_THREADS
    PyObject *names = failed ? PyErr_NoMemory() : PyBytes_FromStringAndSize(found.names, (Py_ssize_t)found.length);
    free(found.names);
    return names;
#else
    return PyBytes_FromStringAndSize(NULL, 0);
#endif
}

static PyMethodDef functions[] = {
    {"connect", connect, METH_VARARGS, connect_doc},
    {"use", use, METH_VARARGS, use_doc},
    {"limit", limit, METH_O, limit_doc},
    {"libraries", libraries, METH_NOARGS, libraries_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "gscompile.runtime._launch",
    .m_doc = "Parallel loops of compiled code; see gscompile.runtime.pools.",
    .m_size = -1, /* the pool is the process's */
    .m_methods = functions,
};

static int add_address(PyObject *module, const char *name, uintptr_t address) {
    PyObject *number = PyLong_FromUnsignedLongLong(address);
    int code = number == NULL ? -1 : PyModule_AddObjectRef(module, name, number);
    Py_XDECREF(number);
    return code;
}

PyMODINIT_FUNC PyInit__launch(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL || pthread_atfork(NULL, NULL, gs_forked) != 0)
        return module == NULL ? NULL : PyErr_NoMemory();
#ifdef Py_GIL_DISABLED
    PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
    if (add_address(module, "LAUNCH", (uintptr_t)gs_launch) != 0 || add_address(module, "OPENMP", (uintptr_t)gs_run_omp) != 0)
        return NULL;
    return module;
}
