/* A program that uses an exported library for a GPU, whose memory is the program's own; see fake_cuda. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

enum { N = 100, K = 300, W = 8 };

static _Alignas(16) float x[N * W], out[N * W], want[N * W], s[K * W], table[2 * W];
static _Alignas(16) int64_t i[K], rows[2] = {2, -3};
static gs_error error;

static void *client(void *nothing) {
    float *mine = (float *)aligned_alloc(16, sizeof out);
    for (int k = 0; k < 3; ++k) {
        assert(net(x, i, s, mine, K, N, NULL, NULL) == GS_OK);
        assert(memcmp(mine, want, sizeof want) == 0);
    }
    free(mine);
    return nothing;
}

int main(int count, char **arguments) {
    (void)arguments;
    for (int k = 0; k < N * W; ++k)
        want[k] = x[k] = (float)(k % 17);
    for (int k = 0; k < K; ++k) {
        i[k] = k * 7 % N - (k % 2 ? N : 0);
        for (int w = 0; w < W; ++w)
            want[k * 7 % N * W + w] += s[k * W + w] = (float)(k % 5 + w);
    }
    int code = net(x, i, s, out, K, N, NULL, &error);
    if (count > 1) { /* it is to fail */
        printf("%d %s\n", code, error.text);
        assert(net(x, i, s, out, K, N, NULL, NULL) == code);
        return code == GS_OK;
    }
    assert(code == GS_OK && memcmp(out, want, sizeof want) == 0);

    gs_options options; /* a stream, and scratch memory */
    memset(&options, 0, sizeof options);
    options.stream = (void *)0x5;
    options.workspace = aligned_alloc(64, (size_t)net_workspace(K, N));
    memset(out, 0, sizeof out);
    assert(net_workspace(K, N) == net_workspace_bytes && net_workspace_bytes == 64);
    assert(net(x, i, s, out, K, N, &options, &error) == GS_OK && memcmp(out, want, sizeof want) == 0);
    memcpy(out, x, sizeof x); /* in place */
    assert(net(out, i, s, out, K, N, &options, &error) == GS_OK && memcmp(out, want, sizeof want) == 0);

    options.deferred = 1; /* neither waits nor allocates; the first that fails is told, once */
    assert(net_check(options.stream, &error) == GS_OK);
    fputs("deferred\n", stderr);
    assert(net(x, i, s, out, K, N, &options, &error) == GS_OK && memcmp(out, want, sizeof want) == 0);
    i[7] = -N - 1;
    assert(net(x, i, s, out, K, N, &options, &error) == GS_OK);
    i[7] = N + 4;
    assert(net(x, i + 2, s, out, K - 2, N, &options, NULL) == GS_OK);
    i[7] = 7 * 7 - N;
    assert(net(x, i, s, out, K, N, &options, &error) == GS_OK && memcmp(out, want, sizeof want) == 0);
    fputs("check\n", stderr);
    assert(net_check(options.stream, &error) == GS_INDEX && error.position[0] == 7 && error.value == -N - 1);
    puts(error.text);
    assert(net_check(options.stream, &error) == GS_OK && lookup_check(NULL, &error) == GS_OK);
    i[0] = N;
    assert(net(x, i, s, out, K, N, &options, &error) == GS_OK && net_check(NULL, NULL) == GS_INDEX);
    i[0] = 0;
    free(options.workspace);

    assert(lookup(rows, table, 2, NULL, &error) == GS_OK);
    for (int w = 0; w < W; ++w)
        assert(table[w] == (float)(2 * W + w) && table[W + w] == (float)w);

    pthread_t clients[3];
    for (int k = 0; k < 3; ++k)
        assert(pthread_create(&clients[k], NULL, client, NULL) == 0);
    for (int k = 0; k < 3; ++k)
        pthread_join(clients[k], NULL);

    i[123] = N;
    assert(net(x, i, s, out, K, N, NULL, NULL) == GS_INDEX);
    assert(net(x, i, s, out, K, N, NULL, &error) == GS_INDEX && error.position[0] == 123 && error.value == N);
    puts(error.text);
    assert(net(x, i + 1, s, out, K, N, NULL, &error) == GS_ARGUMENT);
    puts(error.text);
    assert(net(x, i, s, s, K, N, NULL, &error) == GS_ARGUMENT);
    puts(error.text);
    assert(net(x, i, s, out, K, -1, NULL, &error) == GS_SIZE);
    puts(error.text);
    assert(net(x, NULL, NULL, out, 0, N, NULL, &error) == GS_OK && memcmp(out, x, sizeof x) == 0);
    return 0;
}
