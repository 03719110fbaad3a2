/* recurrent.h - one layer in one direction of lstm, gru or rnn, through all steps of time with all rows of the batch.
 * The gates of a step lie in workspace; the states are kept in the results h and c, from where the next step reads
 * them. A step computes its gates before it writes its row of y, so that a further layer may overwrite the sequence it
 * reads.
 *
 * Gates in PyTorch's order: lstm input, forget, cell, output; gru reset, update, new (whose two halves stay apart). */

#ifndef NETC_RECURRENT
#define NETC_RECURRENT
enum { RECURRENT_LANES = 16 };
enum { RECURRENT_LSTM, RECURRENT_GRU, RECURRENT_TANH, RECURRENT_RELU };
typedef struct Recurrent {
    int kind, reverse;
    size_t steps, batch, in, hidden;
    size_t x_step, x_row, y_step, y_row,
        y_first; /* strides in elements; where this direction's part of a row of y begins */
    size_t state;                                         /* where this layer and direction begin in h, c, h0 and c0 */
} Recurrent;
#endif

KERNEL num K(row_product)(const void *env, num (*w)(const void *, size_t), size_t wi, num (*x)(const void *, size_t),
                          size_t xi, size_t n) {
    const size_t whole = n / RECURRENT_LANES * RECURRENT_LANES;
    num lane[RECURRENT_LANES] = {0}, sum = 0;
    for (size_t i = 0; i < whole; i += RECURRENT_LANES)
        for (size_t l = 0; l < RECURRENT_LANES; l++) lane[l] += w(env, wi + i + l) * x(env, xi + i + l);
    for (size_t i = whole; i < n; i++) lane[0] += w(env, wi + i) * x(env, xi + i);
    for (size_t l = 0; l < RECURRENT_LANES; l++) sum += lane[l];
    return sum;
}

/* w_ih [gates * hidden, in], w_hh [gates * hidden, hidden], biases or NULL; h0, c0 NULL: zeros; gate: workspace of
 * [batch, 4 (rnn: 1), hidden]. c0, c and put_c are lstm's alone. */
KERNEL void K(recurrent)(const void *env, num (*x)(const void *, size_t), num (*w_ih)(const void *, size_t),
                         num (*w_hh)(const void *, size_t), num (*b_ih)(const void *, size_t),
                         num (*b_hh)(const void *, size_t), num (*h0)(const void *, size_t),
                         num (*c0)(const void *, size_t), num (*h)(const void *, size_t),
                         void (*put_h)(const void *, size_t, num), num (*c)(const void *, size_t),
                         void (*put_c)(const void *, size_t, num), num (*gate)(const void *, size_t),
                         void (*put_gate)(const void *, size_t, num), void (*y)(const void *, size_t, num),
                         Recurrent s) {
    const size_t gates = s.kind == RECURRENT_LSTM  ? 4
                         : s.kind == RECURRENT_GRU ? 3
                                                   : 1,
                 kept = gates == 1 ? 1 : 4, n = s.hidden;
    for (size_t i = 0; i < s.batch * n; i++) {
        put_h(env, s.state + i, h0 ? h0(env, s.state + i) : 0);
        if (s.kind == RECURRENT_LSTM) put_c(env, s.state + i, c0 ? c0(env, s.state + i) : 0);
    }
    for (size_t step = 0; step < s.steps; step++) {
        const size_t t = s.reverse ? s.steps - 1 - step : step;
        for (size_t b = 0; b < s.batch; b++)
            for (size_t g = 0; g < gates; g++)
                for (size_t j = 0; j < n; j++) {
                    const size_t row = g * n + j;
                    num in = K(row_product)(env, w_ih, row * s.in, x, t * s.x_step + b * s.x_row, s.in);
                    num back = K(row_product)(env, w_hh, row * n, h, s.state + b * n, n);
                    if (b_ih) in += b_ih(env, row);
                    if (b_hh) back += b_hh(env, row);
                    const int apart = s.kind == RECURRENT_GRU && g == 2;
                    put_gate(env, (b * kept + g) * n + j, apart ? in : in + back);
                    if (apart) put_gate(env, (b * kept + 3) * n + j, back);
                }
        for (size_t b = 0; b < s.batch; b++)
            for (size_t j = 0; j < n; j++) {
                const size_t at = s.state + b * n + j, g = b * kept * n + j;
                num next;
                if (s.kind == RECURRENT_LSTM) {
                    const num cell = K(sigmoid)(gate(env, g + n)) * c(env, at) +
                                     K(sigmoid)(gate(env, g)) * M(tanh)(gate(env, g + 2 * n));
                    put_c(env, at, cell);
                    next = K(sigmoid)(gate(env, g + 3 * n)) * M(tanh)(cell);
                } else if (s.kind == RECURRENT_GRU) {
                    const num reset = K(sigmoid)(gate(env, g)), update = K(sigmoid)(gate(env, g + n));
                    const num fresh = M(tanh)(gate(env, g + 2 * n) + reset * gate(env, g + 3 * n));
                    next = (1 - update) * fresh + update * h(env, at);
                } else {
                    const num sum = gate(env, g);
                    next = s.kind == RECURRENT_TANH ? M(tanh)(sum) : sum < 0 ? 0 : sum;
                }
                put_h(env, at, next);
                y(env, t * s.y_step + b * s.y_row + s.y_first + j, next);
            }
    }
}
