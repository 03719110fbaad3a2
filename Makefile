# netc - a compiler for a small network language. `make demo` and `make check` do everything on a fresh Debian.
#
# B is the build folder; everything made goes there. Every source is listed here, by room.

B       ?= build
CC      ?= cc
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
WARN     = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
STD      = -std=c11 -D_XOPEN_SOURCE=700
INCLUDE  = -I. -I$(B)

BASE     = arena.c intern.c source.c diag.c diagprint.c suggest.c checked.c strbuf.c utf8.c json.c outfile.c ctx.c
IR       = dtype.c ir.c datum.c plan.c print.c lex.c places.c parse.c parse_plan.c check.c
OPS      = ops.c call.c typing.c axes.c window.c storage.c conv.c dense.c norm.c pool.c activation.c elementwise.c reduce.c shape.c \
           rearrange.c join.c part.c index.c create.c resample.c attention.c recurrent.c loss.c
FRONTEND = ast.c astprint.c parse.c tokens.c literal.c syntax.c import.c value.c eval.c signature.c call.c stmt.c elab.c train.c
PASSES   = passes.c steps.c pieces.c demand.c simplify.c fuse.c schedule.c alias.c liveness.c bound.c offsets.c dsa.c plan_verify.c verify_decisions.c bytemap.c
BACKEND  = weights_list.c report/rows.c report/table.c report/json.c report/csv.c report/why.c report/map.c report/budget.c
CLI      = option.c cli.c

SOURCES  = $(BASE:%=base/%) $(IR:%=ir/%) $(OPS:%=ops/%) $(FRONTEND:%=frontend/%) $(PASSES:%=passes/%) $(BACKEND:%=backend/%) \
           $(CLI:%=cli/%) main.c
GRAMMAR  = $(B)/grammar/net.tab.o $(B)/grammar/net.lex.o
OBJECTS  = $(SOURCES:%.c=$(B)/%.o) $(GRAMMAR)

all: $(B)/netc
.PHONY: all

$(B)/netc: $(OBJECTS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(OBJECTS) -lm

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(WARN) $(CFLAGS) $(INCLUDE) -MMD -MP -c -o $@ $<

# The signatures of ir/op.def as constant tables; the program that makes them runs on the machine that builds.
HOSTCC  ?= $(CC)
$(B)/ops/gen_table: ops/gen_table.c ir/op.def ir/dtype.def
	@mkdir -p $(@D)
	$(HOSTCC) $(STD) $(WARN) -I. -o $@ $<
$(B)/ops/table.inc: $(B)/ops/gen_table
	$< > $@.tmp && mv $@.tmp $@
$(B)/ops/ops.o: $(B)/ops/table.inc

# Generated scanners and parsers are not held to our warnings.
$(B)/grammar/net.tab.c $(B)/grammar/net.tab.h: grammar/net.y
	@mkdir -p $(@D)
	bison -Wall -Wcounterexamples -Werror --header=$(B)/grammar/net.tab.h -o $(B)/grammar/net.tab.c $<
$(B)/grammar/net.lex.c: grammar/net.l $(B)/grammar/net.tab.h
	@mkdir -p $(@D)
	flex --header-file=$(B)/grammar/net.lex.h -o $@ $<
$(B)/grammar/%.o: $(B)/grammar/%.c
	$(CC) $(STD) $(CFLAGS) $(INCLUDE) -MMD -MP -c -o $@ $<
$(B)/frontend/parse.o $(B)/frontend/tokens.o $(B)/frontend/literal.o $(B)/frontend/syntax.o: $(B)/grammar/net.tab.h $(B)/grammar/net.lex.c

-include $(OBJECTS:.o=.d)
