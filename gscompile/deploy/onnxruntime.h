/* Graphs as custom operators of ONNX Runtime.  Before this stand run.h and the graphs' functions; after it, what is generated.
 *
 * The declarations are of what is used here, and our own.  The order of the functions of OrtApi and of OrtCustomOp, to which entries are
 * only ever added, is that of onnxruntime_c_api.h of ONNX Runtime 1.18 (MIT, Microsoft). */

#include <limits.h>

typedef struct OrtStatus OrtStatus;
typedef struct OrtValue OrtValue;
typedef struct OrtShape OrtShape; /* OrtTensorTypeAndShapeInfo */
typedef struct OrtKernelInfo OrtKernelInfo;
typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtCustomOpDomain OrtCustomOpDomain;

enum {
    ORT_VERSION = 18,
    ORT_FAIL = 1,
    ORT_INVALID_ARGUMENT = 2,
    /* numbers of functions */
    ORT_CREATE_STATUS = 0,
    ORT_CREATE_CUSTOM_OP_DOMAIN = 26,
    ORT_CUSTOM_OP_DOMAIN_ADD = 27,
    ORT_ADD_CUSTOM_OP_DOMAIN = 28,
    ORT_GET_TENSOR_MUTABLE_DATA = 51,
    ORT_GET_DIMENSIONS_COUNT = 61,
    ORT_GET_DIMENSIONS = 62,
    ORT_GET_TENSOR_TYPE_AND_SHAPE = 65,
    ORT_KERNEL_CONTEXT_GET_INPUT = 90,
    ORT_KERNEL_CONTEXT_GET_OUTPUT = 91,
    ORT_RELEASE_STATUS = 93,
    ORT_RELEASE_TENSOR_TYPE_AND_SHAPE_INFO = 99,
    ORT_KERNEL_CONTEXT_PARALLEL_FOR = 274,
    ORT_FUNCTIONS = 275
};

typedef struct {
    void (*at[ORT_FUNCTIONS])(void);
} OrtApi;

typedef struct {
    const OrtApi *(*get)(uint32_t version);
    const char *(*version)(void);
} OrtApiBase;

/* A function of the table, of this type. */
#define ORT(api, number, ...) ((OrtStatus * (*)(__VA_ARGS__))(api)->at[number])

typedef struct OrtCustomOp {
    uint32_t version;
    void *(*create)(const struct OrtCustomOp *, const OrtApi *, const OrtKernelInfo *); /* of older versions */
    const char *(*name)(const struct OrtCustomOp *);
    const char *(*provider)(const struct OrtCustomOp *);
    int (*input_type)(const struct OrtCustomOp *, size_t);
    size_t (*inputs)(const struct OrtCustomOp *);
    int (*output_type)(const struct OrtCustomOp *, size_t);
    size_t (*outputs)(const struct OrtCustomOp *);
    void (*compute)(void *, OrtKernelContext *); /* of older versions */
    void (*destroy)(void *);
    int (*input_is)(const struct OrtCustomOp *, size_t);
    int (*output_is)(const struct OrtCustomOp *, size_t);
    int (*input_memory)(const struct OrtCustomOp *, size_t);
    int (*variadic[4])(const struct OrtCustomOp *);
    OrtStatus *(*create_v2)(const struct OrtCustomOp *, const OrtApi *, const OrtKernelInfo *, void **);
    OrtStatus *(*compute_v2)(void *, OrtKernelContext *);
    OrtStatus *(*infer)(const struct OrtCustomOp *, void *);
    int (*first_version)(const struct OrtCustomOp *);
    int (*last_version)(const struct OrtCustomOp *);
    size_t (*in_place)(int **, int **);
    void (*in_place_done)(int *, int *);
    size_t (*alias)(int **, int **);
    void (*alias_done)(int *, int *);
} OrtCustomOp;

/* -- a graph ----------------------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name, *shape; /* the shape with its symbolic sizes, for errors */
    int type;                 /* ONNX's number */
    int rank;
} GsTensor;

typedef struct {
    int input, axis;
} GsAxis;

typedef struct {
    OrtCustomOp op; /* first, so that its address is this one's */
    const char *name;
    int inputs, outputs, sizes, extents;
    const GsTensor *tensors; /* inputs, then outputs */
    const GsAxis *axes;      /* of each size: the axis that tells it */
    int (*shapes)(const int64_t *size, int64_t *extents); /* of all tensors, one after another; whether one passes int64 */
    int (*call)(void *const *data, const int64_t *size, const gs_options *options, gs_error *error);
} GsOperator;

typedef struct {
    const GsOperator *of;
    const OrtApi *api;
    atomic_int threads; /* of the session, as far as they were seen */
    atomic_int trials;  /* made to see them */
} GsInstance;

static OrtStatus *gs_status(const OrtApi *api, int code, const char *text) {
    return ORT(api, ORT_CREATE_STATUS, int, const char *)(code, text);
}

static const char *gs_operator_name(const OrtCustomOp *op) { return ((const GsOperator *)op)->name; }
static size_t gs_operator_inputs(const OrtCustomOp *op) { return (size_t)((const GsOperator *)op)->inputs; }
static size_t gs_operator_outputs(const OrtCustomOp *op) { return (size_t)((const GsOperator *)op)->outputs; }
static int gs_operator_input_type(const OrtCustomOp *op, size_t k) { return ((const GsOperator *)op)->tensors[k].type; }

static int gs_operator_output_type(const OrtCustomOp *op, size_t k) {
    const GsOperator *of = (const GsOperator *)op;
    return of->tensors[(size_t)of->inputs + k].type;
}

static const char *gs_operator_provider(const OrtCustomOp *op) { return (void)op, NULL; } /* the CPU's */
static int gs_operator_required(const OrtCustomOp *op, size_t k) { return (void)op, (void)k, 0; }
static int gs_operator_memory(const OrtCustomOp *op, size_t k) { return (void)op, (void)k, 0; }
static int gs_operator_first_version(const OrtCustomOp *op) { return (void)op, 1; }
static int gs_operator_last_version(const OrtCustomOp *op) { return (void)op, INT_MAX; }
static void gs_operator_in_place_done(int *inputs, int *outputs) { (void)inputs, (void)outputs; }

static OrtStatus *gs_operator_create(const OrtCustomOp *op, const OrtApi *api, const OrtKernelInfo *info, void **kernel) {
    GsInstance *made = calloc(1, sizeof *made);
    (void)info;
    if (made == NULL)
        return gs_status(api, ORT_FAIL, "no memory for a kernel of gscompile");
    made->of = (const GsOperator *)op;
    made->api = api;
    atomic_store(&made->threads, 1);
    pthread_once(&gs_once, gs_set_up);
    *kernel = made;
    return NULL;
}

/* -- the session's threads --------------------------------------------------------------------------------------------------- */

typedef struct {
    const OrtApi *api;
    const OrtKernelContext *context;
} GsSession;

typedef struct {
    void (*run)(void *job, int64_t k);
    void *job;
} GsTask;

static void gs_run_task(void *task, size_t k) { ((GsTask *)task)->run(((GsTask *)task)->job, (int64_t)k); }

/* A gs_parallel_for.  What it should fail to run, its caller runs. */
static void gs_session_for(void *session, int64_t tasks, void (*run)(void *job, int64_t k), void *job) {
    const GsSession *s = session;
    GsTask task = {run, job};
    OrtStatus *status = ORT(s->api, ORT_KERNEL_CONTEXT_PARALLEL_FOR, const OrtKernelContext *, void (*)(void *, size_t), size_t, size_t,
                            void *)(s->context, gs_run_task, (size_t)tasks, 0, &task);
    if (status != NULL)
        ((void (*)(OrtStatus *))s->api->at[ORT_RELEASE_STATUS])(status);
}

enum { GS_TRIALS = 4, GS_MEET_NS = 200000 };

typedef struct {
    int wanted;
    int64_t until;
    atomic_int here, most;
} GsMeeting;

static void gs_meet(void *meeting, int64_t k) {
    GsMeeting *m = meeting;
    (void)k;
    int here = atomic_fetch_add(&m->here, 1) + 1, most = atomic_load(&m->most);
    while (here > most && !atomic_compare_exchange_weak(&m->most, &most, here))
        ;
    while (atomic_load(&m->most) < m->wanted && gs_clock(CLOCK_MONOTONIC) < m->until)
        gs_pause();
    atomic_fetch_sub(&m->here, 1);
}

/* How many threads the session has: nothing tells it, so the first calls see how many of them meet. */
static int gs_session_threads(GsInstance *instance, GsSession *session) {
    int threads = atomic_load(&instance->threads);
    if (threads >= gs_cores || atomic_load(&instance->trials) >= GS_TRIALS)
        return threads;
    GsMeeting meeting = {.wanted = gs_cores, .until = gs_clock(CLOCK_MONOTONIC) + GS_MEET_NS};
    gs_session_for(session, gs_cores, gs_meet, &meeting);
    atomic_fetch_add(&instance->trials, 1);
    if (atomic_load(&meeting.most) > threads)
        atomic_store(&instance->threads, threads = atomic_load(&meeting.most));
    return threads;
}

/* -- calls ------------------------------------------------------------------------------------------------------------------- */

enum { GS_MOST_AXES = 64 };

/* The shape of an input and where its elements are. */
static OrtStatus *gs_read_input(const OrtApi *api, const OrtKernelContext *context, int k, int64_t *extents, size_t *rank, void **data) {
    const OrtValue *value = NULL;
    OrtShape *shape = NULL;
    OrtStatus *status = ORT(api, ORT_KERNEL_CONTEXT_GET_INPUT, const OrtKernelContext *, size_t, const OrtValue **)(context, (size_t)k, &value);
    if (status == NULL)
        status = ORT(api, ORT_GET_TENSOR_TYPE_AND_SHAPE, const OrtValue *, OrtShape **)(value, &shape);
    if (status != NULL)
        return status;
    status = ORT(api, ORT_GET_DIMENSIONS_COUNT, const OrtShape *, size_t *)(shape, rank);
    if (status == NULL && *rank <= GS_MOST_AXES)
        status = ORT(api, ORT_GET_DIMENSIONS, const OrtShape *, int64_t *, size_t)(shape, extents, *rank);
    ((void (*)(OrtShape *))api->at[ORT_RELEASE_TENSOR_TYPE_AND_SHAPE_INFO])(shape);
    if (status == NULL)
        status = ORT(api, ORT_GET_TENSOR_MUTABLE_DATA, const OrtValue *, void **)(value, data);
    return status;
}

static OrtStatus *gs_wrong_shape(const OrtApi *api, const GsOperator *of, int k, const int64_t *extents, size_t rank) {
    gs_error error = {.code = GS_SIZE};
    gs_say(&error, "%s: input %s must have shape %s; got ", of->name, of->tensors[k].name, of->tensors[k].shape);
    gs_say_list(&error, "(", extents, rank > GS_MOST_AXES ? 0 : (int)rank, rank == 1 ? ",)" : ")");
    return gs_status(api, ORT_INVALID_ARGUMENT, error.text);
}

static OrtStatus *gs_operator_compute(void *kernel, OrtKernelContext *context) {
    GsInstance *instance = kernel;
    const GsOperator *of = instance->of;
    const OrtApi *api = instance->api;
    int64_t got[of->inputs + 1][GS_MOST_AXES], size[of->sizes + 1], wanted[of->extents + 1];
    size_t rank[of->inputs + 1];
    void *data[of->inputs + of->outputs + 1];
    OrtStatus *status = NULL;
    for (int k = 0; k < of->inputs; ++k) {
        if ((status = gs_read_input(api, context, k, got[k], &rank[k], &data[k])) != NULL)
            return status;
        if (rank[k] != (size_t)of->tensors[k].rank)
            return gs_wrong_shape(api, of, k, got[k], rank[k]);
    }
    for (int k = 0; k < of->sizes; ++k)
        size[k] = got[of->axes[k].input][of->axes[k].axis];
    int bad = of->shapes(size, wanted);
    const int64_t *at = wanted;
    for (int k = 0; k < of->inputs; at += rank[k++])
        if (bad || (rank[k] > 0 && memcmp(at, got[k], sizeof(int64_t) * rank[k]) != 0))
            return gs_wrong_shape(api, of, k, got[k], rank[k]);
    for (int k = 0; k < of->outputs; ++k) {
        OrtValue *value = NULL;
        size_t axes = (size_t)of->tensors[of->inputs + k].rank;
        status = ORT(api, ORT_KERNEL_CONTEXT_GET_OUTPUT, OrtKernelContext *, size_t, const int64_t *, size_t, OrtValue **)(
            context, (size_t)k, at, axes, &value);
        if (status == NULL)
            status = ORT(api, ORT_GET_TENSOR_MUTABLE_DATA, OrtValue *, void **)(value, &data[of->inputs + k]);
        if (status != NULL)
            return status;
        at += axes;
    }
    GsSession session = {api, context};
    gs_options options = {.threads = gs_session_threads(instance, &session), .parallel_for = gs_session_for, .context = &session};
    gs_error error;
    int code = of->call(data, size, &options, &error);
    if (code == GS_OK)
        return NULL;
    return gs_status(api, code == GS_MEMORY || code == GS_CPU || code == GS_FAILED ? ORT_FAIL : ORT_INVALID_ARGUMENT, error.text);
}

/* -- registration ------------------------------------------------------------------------------------------------------------ */

#define GS_OPERATOR(in_place_of)                                                                                                 \
    {                                                                                                                            \
        .version = ORT_VERSION, .name = gs_operator_name, .provider = gs_operator_provider,                                      \
        .input_type = gs_operator_input_type, .inputs = gs_operator_inputs, .output_type = gs_operator_output_type,              \
        .outputs = gs_operator_outputs, .destroy = free, .input_is = gs_operator_required, .output_is = gs_operator_required,    \
        .input_memory = gs_operator_memory, .create_v2 = gs_operator_create, .compute_v2 = gs_operator_compute,                  \
        .first_version = gs_operator_first_version, .last_version = gs_operator_last_version, .in_place = in_place_of,           \
        .in_place_done = gs_operator_in_place_done                                                                               \
    }

/* Adds the operators to a session's options.  Their domain is made once and stays: sessions use it as long as they live. */
static OrtStatus *gs_register(const char *called, const GsOperator *operators, int count, OrtSessionOptions *options,
                              const OrtApiBase *base) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static OrtCustomOpDomain *made;
    static const OrtApiBase *made_by;
    const OrtApi *api = base->get(ORT_VERSION);
    if (api == NULL)
        return gs_status(base->get(1), ORT_FAIL, "this library needs ONNX Runtime 1.18 or a newer one");
    OrtStatus *status = NULL;
    pthread_mutex_lock(&lock);
    if (made_by != base) {
        OrtCustomOpDomain *domain = NULL;
        status = ORT(api, ORT_CREATE_CUSTOM_OP_DOMAIN, const char *, OrtCustomOpDomain **)(called, &domain);
        for (int k = 0; k < count && status == NULL; ++k)
            status = ORT(api, ORT_CUSTOM_OP_DOMAIN_ADD, OrtCustomOpDomain *, const OrtCustomOp *)(domain, &operators[k].op);
        if (status == NULL) {
            made = domain;
            made_by = base;
        }
    }
    if (status == NULL)
        status = ORT(api, ORT_ADD_CUSTOM_OP_DOMAIN, OrtSessionOptions *, OrtCustomOpDomain *)(options, made);
    pthread_mutex_unlock(&lock);
    return status;
}
