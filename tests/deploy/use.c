/* A program that uses an exported library; test_c.py compiles it as C and as C++, and runs it. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

#define N 1000
#define K 60000
#define W 8

static float x[N * W], added[N * W], want[N * W], again[N * W];
static int64_t i[K];
static float s[K * W];

static void fill(void) {
    unsigned state = 1;
    for (int k = 0; k < N * W; ++k)
        x[k] = (float)(k % 17);
    for (int k = 0; k < K; ++k) {
        state = state * 1664525u + 1013904223u;
        i[k] = (int64_t)(state >> 8) % N;
        for (int w = 0; w < W; ++w)
            s[k * W + w] = (float)((state >> (8 + w)) % 5); /* sums of small integers are exact in any order */
    }
    memcpy(want, x, sizeof want);
    for (int k = 0; k < K; ++k)
        for (int w = 0; w < W; ++w)
            want[i[k] * W + w] += s[k * W + w];
}

/* Somebody else's threads: one, and the caller. */
typedef struct {
    void (*task)(void *, int64_t);
    void *job;
    int64_t begin, end;
} Part;

static void *run_part(void *part) {
    Part *p = (Part *)part;
    for (int64_t k = p->begin; k < p->end; ++k)
        p->task(p->job, k);
    return NULL;
}

static int launches;

static void in_two(void *context, int64_t tasks, void (*task)(void *job, int64_t k), void *job) {
    Part first = {task, job, 0, tasks / 2}, second = {task, job, tasks / 2, tasks};
    pthread_t other;
    ++*(int *)context;
    assert(pthread_create(&other, NULL, run_part, &first) == 0);
    run_part(&second);
    pthread_join(other, NULL);
}

static void *client(void *nothing) {
    float *mine = (float *)malloc(sizeof added);
    for (int k = 0; k < 20; ++k) {
        assert(net(x, i, s, mine, K, N, NULL, NULL) == GS_OK);
        assert(memcmp(mine, want, sizeof want) == 0);
    }
    free(mine);
    return nothing;
}

int main(void) {
    gs_error error;
    gs_options options;
    fill();

    assert(net(x, i, s, added, K, N, NULL, NULL) == GS_OK);
    assert(memcmp(added, want, sizeof want) == 0);

    memset(&options, 0, sizeof options); /* one thread, scratch memory of the caller's */
    options.threads = 1;
    assert(net_workspace(K, N) >= 0 && net_workspace(-1, N) == -1);
    options.workspace = aligned_alloc(64, (size_t)(net_workspace(K, N) + 63) / 64 * 64 + 64);
    assert(net(x, i, s, again, K, N, &options, &error) == GS_OK);
    assert(memcmp(again, want, sizeof want) == 0);
    free(options.workspace);

    memset(&options, 0, sizeof options); /* somebody else's threads */
    options.threads = 5;
    options.parallel_for = in_two;
    options.context = &launches;
    assert(net(x, i, s, again, K, N, &options, &error) == GS_OK);
    assert(memcmp(again, want, sizeof want) == 0 && launches > 0);

    memcpy(again, x, sizeof x); /* in place */
    assert(net(again, i, s, again, K, N, NULL, &error) == GS_OK);
    assert(memcmp(again, want, sizeof want) == 0);

    pthread_t clients[4];
    for (int k = 0; k < 4; ++k)
        assert(pthread_create(&clients[k], NULL, client, NULL) == 0);
    for (int k = 0; k < 4; ++k)
        pthread_join(clients[k], NULL);

    i[777] = N;
    assert(net(x, i, s, added, K, N, NULL, NULL) == GS_INDEX);
    assert(net(x, i, s, added, K, N, NULL, &error) == GS_INDEX && error.code == GS_INDEX);
    puts(error.text);
    assert(strcmp(error.tensor, "i") == 0 && error.rank == 1 && error.position[0] == 777 && error.value == N);
    assert(error.low == -N && error.high == N - 1);
    i[777] = 0;

    assert(net(NULL, i, s, added, K, N, NULL, &error) == GS_ARGUMENT);
    puts(error.text);
    assert(net((const float *)((const char *)x + 1), i, s, added, K, N, NULL, &error) == GS_ARGUMENT);
    puts(error.text);
    assert(net(x, i, s, s + 4, K, N, NULL, &error) == GS_ARGUMENT);
    puts(error.text);
    assert(net(x, i, s, added, K, -3, NULL, &error) == GS_SIZE);
    puts(error.text);
    assert(net(x, i, s, added, K, INT64_MAX, NULL, &error) == GS_SIZE);
    puts(error.text);
    assert(net(x, NULL, NULL, added, 0, N, NULL, &error) == GS_OK && memcmp(added, x, sizeof x) == 0);
    return 0;
}
