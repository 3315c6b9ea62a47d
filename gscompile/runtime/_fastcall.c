/* Calls of a compiled function whose arrays are read and checked here rather than in Python; see fastcall.py.
 *
 * A call signature is what the arrays of a call were that Python found good: types, dtypes, extents.  A call whose arrays equal one,
 * are aligned, in C order and do not overlap the output runs the kernel; any other is the slow path's, a callable in Python, which
 * also reports whatever is wrong.  Signatures are only ever added, at the head of a list, by a thread that holds the GIL.
 *
 * Nothing of TVM is included or linked: addresses come from Python, and its few structures are declared below.
 */
#include "_fastcall_gpu.h"

typedef struct {
    PyObject_HEAD
    Kernel kernel;
    PyObject *keep; /* what owns the kernel */
    PyObject *slow;
    Gpu *gpu; /* NULL on the CPU */
    uintptr_t alignment; /* of every address; 0: of elements */
    Signature *first;
} FastCall;

static PyObject *out_name; /* "out" */

/* The result of a call, a new reference; NULL where the slow path has to look, or with an exception that it must not swallow. */
static PyObject *run(FastCall *self, PyObject *inputs, PyObject *out) {
    View views[MOST_INPUTS + 1];
    PyObject *result = NULL;
    int64_t taken;
    int given;
    if (self->first == NULL || PyTuple_GET_SIZE(inputs) != self->first->inputs || !read_arrays(inputs, out, views))
        return NULL;
    given = self->first->inputs;
    const Signature *s = find(self->first, views, given, out != NULL);
    if (s != NULL)
        result = out != NULL ? Py_NewRef(out) : new_result(s, &views[given]);
    if (result == NULL) {
        release(views, given + (out != NULL));
        forget_exception();
        return NULL;
    }
    if (!are_aligned(views, given + 1, self->alignment) || !is_apart(s, views, &taken) || (out != NULL && tell_written(views[given].reader, out) != 0)
        || !(s->place == NULL ? run_kernel : run_on_gpu)(&self->kernel, s, views, taken))
        Py_CLEAR(result);
    release(views, given + 1);
    if (result != NULL && out == NULL && s->finish != NULL) {
        PyObject *filled = result;
        result = PyObject_CallOneArg(s->finish, filled);
        Py_DECREF(filled);
    }
    forget_exception();
    return result;
}

static PyObject *call_slow(PyObject *slow, PyObject *args, PyObject *kwargs) {
    if (slow == NULL) { /* the collector took it from an object that nobody refers to */
        PyErr_SetString(PyExc_ReferenceError, "the module of this call is gone");
        return NULL;
    }
    return PyObject_Call(slow, args, kwargs);
}

/* -- FastCall --------------------------------------------------------------------------------------------------------------- */

static PyObject *FastCall_call(FastCall *self, PyObject *args, PyObject *kwargs) {
    PyObject *out = NULL, *result = NULL;
    Py_ssize_t named = kwargs == NULL ? 0 : PyDict_Size(kwargs);
    if (named == 1)
        out = PyDict_GetItemWithError(kwargs, out_name);
    if (named == 0 || out != NULL)
        result = run(self, args, out == Py_None ? NULL : out);
    if (result == NULL && !PyErr_Occurred())
        result = call_slow(self->slow, args, kwargs);
    return result;
}

static int is_call(PyObject *make) {
    return PyTuple_Check(make) && PyTuple_GET_SIZE(make) == 3 && PyTuple_Check(PyTuple_GET_ITEM(make, 1))
           && PyDict_Check(PyTuple_GET_ITEM(make, 2));
}

PyDoc_STRVAR(add_doc, "add(inputs, out, numbers, workspace, in_place, brief, make, finish, there)\n--\n\n"
                      "Remember a good call; returns whether there was anything to add.  See _fastcall.pyi.");

static PyObject *FastCall_add(FastCall *self, PyObject *args) {
    PyObject *inputs, *out, *numbers, *make, *finish, *there;
    GpuPlace *place = NULL;
    View views[MOST_INPUTS + 1];
    Signature *s = NULL;
    Py_ssize_t workspace;
    int in_place, brief;
    if (!PyArg_ParseTuple(args, "O!OO!nipOOO:add", &PyTuple_Type, &inputs, &out, &PyTuple_Type, &numbers, &workspace, &in_place,
                          &brief, &make, &finish, &there))
        return NULL;
    if (workspace < 0 || workspace > PY_SSIZE_T_MAX - ALIGNMENT) {
        PyErr_Format(PyExc_ValueError, "no such number of bytes: %zd", workspace);
        return NULL;
    }
    if (make != Py_None && !PyArray_DescrCheck(make) && !is_call(make)) {
        PyErr_SetString(PyExc_TypeError, "make must be None, a NumPy dtype or (callable, args, kwargs)");
        return NULL;
    }
    if ((there != Py_None) != (self->gpu != NULL) || (there != Py_None && !PyTuple_Check(there))) {
        PyErr_SetString(PyExc_TypeError, "there must be a tuple for a GPU, and None for the CPU");
        return NULL;
    }
    if (there != Py_None && (place = new_place(self->gpu, there)) == NULL)
        return NULL;
    Py_ssize_t given = PyTuple_GET_SIZE(inputs);
    if (given >= (self->gpu != NULL) && given <= MOST_INPUTS && (self->first == NULL || given == self->first->inputs)
        && read_arrays(inputs, out, views)) {
        if (are_on_one(views, (int)given + 1, self->gpu == NULL ? DLPACK_CPU : DLPACK_CUDA)
            && find(self->first, views, (int)given, 1) == NULL)
            s = new_signature(views, (int)given, numbers, self->gpu != NULL);
        release(views, (int)given + 1);
        forget_exception();
    }
    if (s != NULL && PyErr_Occurred()) { /* an interrupt */
        free_signature(s);
        s = NULL;
    }
    if (s == NULL) {
        free_place(place);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    }
    s->place = place;
    s->workspace = (size_t)workspace;
    s->in_place = in_place;
    s->brief = brief;
    s->make = make == Py_None ? NULL : Py_NewRef(make);
    s->finish = finish == Py_None ? NULL : Py_NewRef(finish);
    s->next = self->first;
    self->first = s;
    Py_RETURN_TRUE;
}

static PyObject *FastCall_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *keep, *slow, *gpu = Py_None;
    unsigned long long call, function, threads;
    int status, alignment = 0;
    static char *names[] = {"call", "function", "keep", "threads", "status", "slow", "gpu", "alignment", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KKOKiO|Oi:FastCall", names, &call, &function, &keep, &threads, &status, &slow, &gpu,
                                     &alignment))
        return NULL;
    if (alignment < 0) {
        PyErr_Format(PyExc_ValueError, "no such alignment: %d", alignment);
        return NULL;
    }
    if (status < 1 || status > MOST_STATUS) {
        PyErr_Format(PyExc_ValueError, "status must be from 1 to %d; got %d", MOST_STATUS, status);
        return NULL;
    }
    FastCall *self = (FastCall *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    if (gpu != Py_None && (self->gpu = new_gpu(gpu)) == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    self->alignment = (uintptr_t)alignment;
    self->kernel.call = (TVMFunctionCall)(uintptr_t)call;
    self->kernel.function = (void *)(uintptr_t)function;
    self->kernel.threads = (const int64_t *)(uintptr_t)threads;
    self->keep = Py_NewRef(keep);
    self->slow = Py_NewRef(slow);
    return (PyObject *)self;
}

static int FastCall_traverse(FastCall *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->keep);
    Py_VISIT(self->slow);
    for (const Signature *s = self->first; s != NULL; s = s->next) {
        Py_VISIT(s->make);
        Py_VISIT(s->finish);
        if (s->place != NULL)
            Py_VISIT(s->place->owner);
    }
    return 0;
}

static int FastCall_clear(FastCall *self) {
    Py_CLEAR(self->slow);
    return 0;
}

static void FastCall_dealloc(FastCall *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->slow);
    for (Signature *s = self->first, *next; s != NULL; s = next) {
        next = s->next;
        free_signature(s);
    }
    Py_CLEAR(self->keep);
    PyMem_Free(self->gpu);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef FastCall_methods[] = {
    {"add", (PyCFunction)FastCall_add, METH_VARARGS, add_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot FastCall_slots[] = {
    {Py_tp_new, FastCall_new},         {Py_tp_call, FastCall_call},   {Py_tp_traverse, FastCall_traverse},
    {Py_tp_clear, FastCall_clear},     {Py_tp_dealloc, FastCall_dealloc}, {Py_tp_methods, FastCall_methods},
    {0, NULL},
};

static PyType_Spec FastCall_spec = {
    .name = "gscompile.runtime._fastcall.FastCall",
    .basicsize = sizeof(FastCall),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = FastCall_slots,
};

static PyTypeObject *FastCall_type;

/* -- FastBound -------------------------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    FastCall *call;
    PyObject *inputs, *out, *slow;
} FastBound;

static PyObject *FastBound_call(FastBound *self, PyObject *args, PyObject *kwargs) {
    PyObject *result = NULL;
    if (PyTuple_GET_SIZE(args) == 0 && (kwargs == NULL || PyDict_Size(kwargs) == 0) && self->call != NULL)
        result = run(self->call, self->inputs, self->out);
    if (result == NULL && !PyErr_Occurred())
        result = call_slow(self->slow, args, kwargs);
    return result;
}

static PyObject *FastBound_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *call, *inputs, *out, *slow;
    static char *names[] = {"call", "inputs", "out", "slow", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!OO:FastBound", names, FastCall_type, &call, &PyTuple_Type, &inputs, &out, &slow))
        return NULL;
    FastBound *self = (FastBound *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->call = (FastCall *)Py_NewRef(call);
    self->inputs = Py_NewRef(inputs);
    self->out = Py_NewRef(out);
    self->slow = Py_NewRef(slow);
    return (PyObject *)self;
}

static int FastBound_traverse(FastBound *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->call);
    Py_VISIT(self->inputs);
    Py_VISIT(self->out);
    Py_VISIT(self->slow);
    return 0;
}

static int FastBound_clear(FastBound *self) {
    Py_CLEAR(self->call);
    Py_CLEAR(self->inputs);
    Py_CLEAR(self->out);
    Py_CLEAR(self->slow);
    return 0;
}

static void FastBound_dealloc(FastBound *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    FastBound_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot FastBound_slots[] = {
    {Py_tp_new, FastBound_new},     {Py_tp_call, FastBound_call},       {Py_tp_traverse, FastBound_traverse},
    {Py_tp_clear, FastBound_clear}, {Py_tp_dealloc, FastBound_dealloc}, {0, NULL},
};

static PyType_Spec FastBound_spec = {
    .name = "gscompile.runtime._fastcall.FastBound",
    .basicsize = sizeof(FastBound),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = FastBound_slots,
};

/* -- the module ------------------------------------------------------------------------------------------------------------- */

PyDoc_STRVAR(register_doc, "register(type, api, checks, whole, written, writable)\n--\n\nSay how arrays of a type are read.  See _fastcall.pyi.");

static PyObject *register_reader(PyObject *module, PyObject *args) {
    PyObject *type, *capsule, *checks, *written;
    int whole, writable;
    if (!PyArg_ParseTuple(args, "O!OO!pOp:register", &PyType_Type, &type, &capsule, &PyTuple_Type, &checks, &whole, &written, &writable))
        return NULL;
    Reader reader = {.type = (PyTypeObject *)type,
                     .protocol = capsule == Py_None ? BUFFER : EXCHANGE,
                     .whole = whole,
                     .writable = writable};
    if (capsule != Py_None && (reader.api = exchange_api(capsule)) == NULL)
        return NULL;
    if (reader_count == MOST_READERS) {
        PyErr_Format(PyExc_ValueError, "no more than %d types of arrays are read", MOST_READERS);
        return NULL;
    }
    if (PyTuple_GET_SIZE(checks) > (capsule == Py_None ? 0 : MOST_CHECKS)) {
        PyErr_Format(PyExc_ValueError, "at most %d checks are made, and none through the buffer protocol", MOST_CHECKS);
        return NULL;
    }
    for (; reader.check_count < PyTuple_GET_SIZE(checks); ++reader.check_count) {
        PyObject *parts = PyTuple_GET_ITEM(checks, reader.check_count);
        if (!PyTuple_Check(parts) || PyTuple_GET_SIZE(parts) != 3) {
            PyErr_SetString(PyExc_TypeError, "a check must be (question, answer, otherwise)");
            return NULL;
        }
        PyObject *otherwise = PyTuple_GET_ITEM(parts, 2);
        reader.checks[reader.check_count] = (Check){.question = PyTuple_GET_ITEM(parts, 0),
                                                    .answer = PyTuple_GET_ITEM(parts, 1),
                                                    .otherwise = otherwise == Py_None ? NULL : otherwise};
    }
    Py_INCREF(checks); /* for good, as all that is in it */
    reader.written = written == Py_None ? NULL : Py_NewRef(written);
    Py_INCREF(type);
    readers[reader_count] = reader;
    ++reader_count;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(address_doc, "address(array)\n--\n\nThe address of a NumPy array's first element.");

static PyObject *address(PyObject *module, PyObject *array) {
    if (!PyArray_Check(array)) {
        PyErr_SetString(PyExc_TypeError, "address: a NumPy array is needed");
        return NULL;
    }
    return PyLong_FromVoidPtr(PyArray_DATA((PyArrayObject *)array));
}

PyDoc_STRVAR(leave_doc, "leave()\n--\n\nHow many other threads are inside a kernel; from now on no other enters one.");

static PyObject *leave(PyObject *module, PyObject *nothing) {
    if (parked == NULL) {
        if ((parked = PyThread_allocate_lock()) == NULL)
            return PyErr_NoMemory();
        PyThread_acquire_lock(parked, WAIT_LOCK);
        leaver = PyThread_get_thread_ident();
    }
    return PyLong_FromLong(inside);
}

PyDoc_STRVAR(forked_doc, "forked()\n--\n\nThis process has one thread now, and it is not inside a kernel.");

static PyObject *forked(PyObject *module, PyObject *nothing) {
    inside = 0;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"leave", leave, METH_NOARGS, leave_doc},
    {"forked", forked, METH_NOARGS, forked_doc},
    {"register", register_reader, METH_VARARGS, register_doc},
    {"address", address, METH_O, address_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "gscompile.runtime._fastcall",
    .m_doc = "Calls of compiled functions, checked in C; see gscompile.runtime.fastcall.",
    .m_size = -1, /* the readers are the process's: NumPy, too, lives in one interpreter */
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__fastcall(void) {
    import_array();
    out_name = PyUnicode_InternFromString("out");
    FastCall_type = (PyTypeObject *)PyType_FromSpec(&FastCall_spec);
    PyObject *bound = PyType_FromSpec(&FastBound_spec), *module = PyModule_Create(&definition);
    if (out_name == NULL || FastCall_type == NULL || bound == NULL || module == NULL)
        return NULL;
    readers[0] = (Reader){.type = &PyArray_Type, .protocol = NUMPY, .writable = 1};
    reader_count = 1;
    if (PyModule_AddObjectRef(module, "FastCall", (PyObject *)FastCall_type) < 0 || PyModule_AddObjectRef(module, "FastBound", bound) < 0
        || PyModule_AddIntConstant(module, "MOST_STATUS", MOST_STATUS) < 0 || PyModule_AddIntConstant(module, "SMALL", SMALL) < 0)
        return NULL;
    return module;
}
