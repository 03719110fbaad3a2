/* print.h - the words of the printed form, one place for the printer and the reader. */
#ifndef NETC_IR_PRINT_H
#define NETC_IR_PRINT_H

#include "ir/plan.h"

const char *ir_op_name(OpKind);
const char *ir_role_word(Role);
const char *ir_init_word(InitKind, unsigned *nargs);      /* nargs: how many numbers follow */
const char *ir_phase_word(Phase);
const char *ir_reason_word(Reason);
bool ir_bare_char(char);                                  /* may stand in a name that is not quoted */

#endif
