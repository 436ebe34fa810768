/* Criterion's redirection, as far as tests/unit uses it: see criterion.h beside it. */
#ifndef SEEN_TESTS_PLAIN_REDIRECT_H
#define SEEN_TESTS_PLAIN_REDIRECT_H

#include "criterion.h"

static FILE *plain_stderr;

static inline void cr_redirect_stderr(void)
{
	plain_stderr = tmpfile();
	if (!plain_stderr || dup2(fileno(plain_stderr), STDERR_FILENO) < 0)
		abort();
}

/* What was written so far. */
static inline FILE *cr_get_redirected_stderr(void)
{
	rewind(plain_stderr);
	return plain_stderr;
}

#endif
