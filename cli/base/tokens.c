/* The estimate of tokens: see tokens.h. */
#include "cli/base/tokens.h"

enum kind {
	KIND_NONE,
	KIND_WORD,     /* letters, the last of them small */
	KIND_CAPITALS, /* one so far, or more */
	KIND_DIGITS,
	KIND_OTHER,
	KIND_SPACE,  /* one space so far */
	KIND_SPACES, /* more, or a tab */
	KIND_LINE,   /* an end of line, and white space after it */
};

/* tokens_of_bytes(): so many bytes are so many tokens. */
enum { BYTES = 7, BYTES_TOKENS = 2 };

/* In quarters of a token. */
enum {
	QUARTERS = 4,
	WORD = 4,
	WORD_LETTERS = 8, /* that cost no more than one */
	CAPITALS = 3,
	CAPITALS_EACH = 4,
	DIGITS = 5,
	DIGITS_EACH = 3,
	OTHER = 4,
	OTHER_EACH = 4,
	SPACES = 4,
	LINE = 3,
	TWO_BYTES = 3,
	THREE_BYTES = 5,
	THREE_BYTES_SYMBOL = 8,
	FOUR_BYTES = 8,
	STRAY_BYTE = 4,
};

static uint64_t cost(enum kind kind, uint64_t bytes)
{
	switch (kind) {
	case KIND_WORD:
		return WORD + (bytes > WORD_LETTERS ? bytes - WORD_LETTERS : 0);
	case KIND_CAPITALS:
		return bytes == 1 ? WORD : CAPITALS * ((bytes + CAPITALS_EACH - 1) / CAPITALS_EACH);
	case KIND_DIGITS:
		return DIGITS * ((bytes + DIGITS_EACH - 1) / DIGITS_EACH);
	case KIND_OTHER:
		return OTHER + (bytes - 1) / OTHER_EACH;
	case KIND_SPACES:
		return SPACES;
	case KIND_LINE:
		return LINE;
	case KIND_SPACE:
	case KIND_NONE:
		break;
	}
	return 0;
}

/* The run ends; one of a kind begins with the byte at hand, or none. */
static void start(struct tokens *tokens, enum kind kind)
{
	tokens->quarters += cost((enum kind)tokens->kind, tokens->run_bytes);
	tokens->kind = kind;
	tokens->run_bytes = kind != KIND_NONE;
}

/* A byte of a character that is not ASCII. */
static void add_wide(struct tokens *tokens, unsigned char byte)
{
	start(tokens, KIND_NONE);
	if (byte < 0xc0) {
		if (tokens->continuing > 0)
			tokens->continuing--;
		else
			tokens->quarters += STRAY_BYTE;
	} else if (byte < 0xe0) {
		tokens->quarters += TWO_BYTES;
		tokens->continuing = 1;
	} else if (byte < 0xf0) {
		/* 0xe2: dashes, arrows, frames, symbols, of which each is rare. */
		tokens->quarters += byte == 0xe2 ? THREE_BYTES_SYMBOL : THREE_BYTES;
		tokens->continuing = 2;
	} else {
		tokens->quarters += FOUR_BYTES;
		tokens->continuing = 3;
	}
}

/* Begins a run of the kind, or goes on with it. */
static void add_to(struct tokens *tokens, enum kind kind)
{
	if (tokens->kind == (int)kind)
		tokens->run_bytes++;
	else
		start(tokens, kind);
}

static void add_ascii(struct tokens *tokens, unsigned char byte)
{
	if (byte >= 'a' && byte <= 'z') {
		if (tokens->kind == KIND_CAPITALS)
			tokens->kind = KIND_WORD; /* "Word", "HTTPServer" */
		add_to(tokens, KIND_WORD);
	} else if (byte >= 'A' && byte <= 'Z') {
		add_to(tokens, KIND_CAPITALS);
	} else if (byte >= '0' && byte <= '9') {
		add_to(tokens, KIND_DIGITS);
	} else if (byte == '\n' || byte == '\r') {
		add_to(tokens, KIND_LINE);
	} else if (byte == ' ' || byte == '\t') {
		if (tokens->kind == KIND_LINE || tokens->kind == KIND_SPACES)
			return;
		if (tokens->kind == KIND_SPACE)
			tokens->kind = KIND_SPACES;
		else
			start(tokens, byte == ' ' ? KIND_SPACE : KIND_SPACES);
	} else {
		add_to(tokens, KIND_OTHER);
	}
}

void tokens_add(struct tokens *tokens, const void *text, size_t size_bytes)
{
	const unsigned char *bytes = text;
	for (size_t i = 0; i < size_bytes; i++) {
		if (bytes[i] >= 0x80) {
			add_wide(tokens, bytes[i]);
		} else {
			tokens->continuing = 0;
			add_ascii(tokens, bytes[i]);
		}
	}
}

uint64_t tokens_count(const struct tokens *tokens)
{
	uint64_t quarters = tokens->quarters + cost((enum kind)tokens->kind, tokens->run_bytes);
	return (quarters + QUARTERS - 1) / QUARTERS;
}

uint64_t tokens_estimate(const void *text, size_t size_bytes)
{
	struct tokens tokens = { 0 };
	tokens_add(&tokens, text, size_bytes);
	return tokens_count(&tokens);
}

uint64_t tokens_of_bytes(uint64_t bytes)
{
	return bytes / BYTES * BYTES_TOKENS + (bytes % BYTES * BYTES_TOKENS + BYTES - 1) / BYTES;
}
