/* window.h - the sliding window that convolutions and pools share: its arguments in the language, its one normalised
 * form in the IR, and how many places it has on an axis.
 *
 * Normalised attributes: kernel_size, stride, dilation are lists of n integers (n = spatial axes, outermost first);
 * padding is a list of 2n: what is added before each axis, then what is added after each (ONNX's order). */
#ifndef NETC_WINDOW_H
#define NETC_WINDOW_H

#include "ops/axes.h"

enum { WINDOW_AXES = 3 };
typedef struct Window {
    unsigned n;                                           /* spatial axes: the last n of a tensor */
    bool dilated;                                         /* the operator has the attribute dilation; else it is 1 */
    int64_t kernel[WINDOW_AXES], stride[WINDOW_AXES], dilation[WINDOW_AXES], begin[WINDOW_AXES], end[WINDOW_AXES];
} Window;

/* kernel_size, stride (none = kernel_size) and dilation of a call; padding is left 0. */
void window_of_call(Call *, unsigned n, bool dilated, Window *);
/* The argument padding: an int, n ints, n pairs (before, after); with words also "valid" and "same". */
bool window_padding(Call *, Window *, bool words);
bool window_of_attrs(Typing *, unsigned n, bool dilated,
                     Window *); /* false after a diagnostic when the attributes are not so */
uint32_t window_attrs(Arena *, const Window *, Attr *attrs);      /* writes 3 or 4 attributes, returns how many */
/* The window of an op with n spatial axes, in WINDOW_AXES axes: those that it does not have stand in front, as a kernel
 * of 1 over an axis of 1. For evaluation. */
Window window_of_op(const Op *, unsigned n);
/* An attribute of exactly n integers. */
bool window_numbers(Typing *, AttrName, unsigned n, int64_t *v);
/* kernel, stride, dilation >= 1 and padding >= 0, located at the argument that is not. */
bool window_check(Typing *, const Window *);
/* Elements of the axis that one window touches, first to last: dilation * (kernel - 1) + 1. False when it overflows. */
bool window_span(const Window *, unsigned i, int64_t *span);
/* The places of the window on spatial axis i of x: floor((in + begin + end - span) / stride) + 1; with ceil the
 * division rounds up, but a last window that would start in the padding after the input is dropped. False after a
 * diagnostic when there is none. */
bool window_places(Typing *, const Window *, unsigned i, const Value *x, bool ceil, uint64_t *places);
/* Only the batch may be empty: channels and spatial axes, the last n + 1 of x, have elements. */
bool window_not_empty(Typing *, const Value *x, unsigned n);
const char *window_form(unsigned n);                      /* "[N, C, H, W]" */

#endif
