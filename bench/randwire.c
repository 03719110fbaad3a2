/* randwire.c - prints a randomly wired network as a .net: `randwire [SEED [NODES [K [PERCENT]]]]`, by default seed
 * 1 of WS(32, 4, 0.75).
 *
 * The wiring is Watts and Strogatz's small world as randomly wired networks use it (Xie, Kirillov, Girshick and He,
 * Exploring Randomly Wired Neural Networks, 2019): NODES nodes in a ring, each joined to its K nearest, each edge
 * moved with a probability of PERCENT/100 to another node; an edge leads from the lower number to the higher. A
 * node sums what reaches it, weighted by sigmoids of trained scalars, then relu, a separable 3x3 convolution and
 * batch norm. Nodes that nothing reaches read the input; the output is the mean of the nodes that lead nowhere. One
 * stage of the paper's small regime: 78 channels of 28 x 28. The nodes are written in the order of their numbers.
 * The same arguments print the same bytes everywhere. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 };

typedef struct Wiring {
    uint64_t seed;
    uint32_t nodes;
    bool joined[MOST][MOST];
} Wiring;

/* xorshift64*: below n. */
static uint32_t below(Wiring *w, uint32_t n) {
    w->seed ^= w->seed >> 12;
    w->seed ^= w->seed << 25;
    w->seed ^= w->seed >> 27;
    return (uint32_t)((w->seed * UINT64_C(2685821657736338717) >> 33) % n);
}

static void join(Wiring *w, uint32_t a, uint32_t b, bool on) { w->joined[a][b] = w->joined[b][a] = on; }

static uint32_t degree(const Wiring *w, uint32_t a) {
    uint32_t n = 0;
    for (uint32_t b = 0; b < w->nodes; b++)
        n += w->joined[a][b];
    return n;
}

/* The edge a - b gets another end, any that is not joined to a already. */
static void move_edge(Wiring *w, uint32_t a, uint32_t b) {
    if (degree(w, a) >= w->nodes - 1)
        return;
    uint32_t c = below(w, w->nodes);
    while (c == a || w->joined[a][c])
        c = below(w, w->nodes);
    join(w, a, b, false);
    join(w, a, c, true);
}

static void wire(Wiring *w, uint32_t k, uint32_t percent) {
    for (uint32_t j = 1; j <= k / 2; j++)
        for (uint32_t a = 0; a < w->nodes; a++)
            join(w, a, (a + j) % w->nodes, true);
    for (uint32_t j = 1; j <= k / 2; j++)
        for (uint32_t a = 0; a < w->nodes; a++)
            if (below(w, 100) < percent && w->joined[a][(a + j) % w->nodes])
                move_edge(w, a, (a + j) % w->nodes);
}

static void print_node(const Wiring *w, uint32_t node) {
    uint32_t n = 0;
    for (uint32_t a = 0; a < node; a++)
        if (w->joined[a][node]) {
            printf("    param w%" PRIu32 "_%" PRIu32 ": f32[] = zeros\n", a, node);
            n++;
        }
    printf("    n%" PRIu32 " = ", node);
    if (n == 0)
        printf("x");
    for (uint32_t a = 0, i = 0; a < node; a++)
        if (w->joined[a][node])
            printf("%ssigmoid(w%" PRIu32 "_%" PRIu32 ") * n%" PRIu32, i++ > 0 ? " + " : "", a, node, a);
    printf(" |> relu |> separable\n");
}

static void print_net(const Wiring *w) {
    uint32_t n = 0;
    printf("block separable(x) {\n"
           "    return x |> conv2d(78, 3, padding=1, groups=78, bias=false) |> conv2d(78, 1, bias=false) |> batch_norm\n"
           "}\n\n"
           "net wired(x: f32[1, 78, 28, 28]) -> f32[1, 78, 28, 28] {\n");
    for (uint32_t node = 0; node < w->nodes; node++)
        print_node(w, node);
    printf("    y = ");
    for (uint32_t a = 0; a < w->nodes; a++) {
        bool leads = false;
        for (uint32_t b = a + 1; b < w->nodes; b++)
            leads = leads || w->joined[a][b];
        if (!leads)
            printf("%sn%" PRIu32, n++ > 0 ? " + " : "", a);
    }
    printf("\n    return y * %.9g\n}\n", 1.0 / n);
}

static uint32_t argument(int argc, char **argv, int i, uint32_t dflt, uint32_t least, uint32_t most) {
    if (i >= argc)
        return dflt;
    char *end;
    unsigned long v = strtoul(argv[i], &end, 10);
    if (*end != '\0' || v < least || v > most) {
        fprintf(stderr, "randwire: argument %d is a number from %" PRIu32 " to %" PRIu32 "\n", i, least, most);
        exit(2);
    }
    return (uint32_t)v;
}

int main(int argc, char **argv) {
    static Wiring w;
    uint32_t seed = argument(argc, argv, 1, 1, 0, UINT32_MAX - 1);
    w.seed = (seed + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
    w.nodes = argument(argc, argv, 2, 32, 3, MOST);
    uint32_t k = argument(argc, argv, 3, 4, 2, w.nodes - 1);
    wire(&w, k, argument(argc, argv, 4, 75, 0, 100));
    printf("# A randomly wired network: WS(%" PRIu32 ", %" PRIu32 "), seed %" PRIu32 ".\n", w.nodes, k, seed);
    print_net(&w);
    return 0;
}
