/* What is declared of each op: see ops.h. */
#include "tracker/journal/ops.h"

#include "tracker/journal/journal.h"

static const struct op OPS[] = {
#define OP(name, word, words, about, action, file, effect, author, traits, readers, members, \
	   particulars, text) \
	[JOURNAL_##name] = { word, words, EFFECT_##effect, AUTHOR_##author, traits },
#include "tracker/journal/ops.def"
#undef OP
};

const struct op *op_info(unsigned op)
{
	return &OPS[op < sizeof(OPS) / sizeof(OPS[0]) ? op : JOURNAL_NONE];
}

const char *journal_op_name(unsigned op)
{
	return op_info(op)->name;
}
