/*
 * An adapter: what differs between agents whose hooks answer.
 *
 * What a hook is asked, and what it answers, is decided once for all agents (hook_read.h,
 * hook_write.h).  An adapter holds how one agent's hook names things in its input, what that agent's
 * tools are called, which lines of a file a tool's output proves to hold, and which document makes
 * the agent do what was decided.  It decides nothing, and writes nothing.
 *
 * Each is in a file adapter_NAME.c, and has its name in HOOK_ADAPTERS.
 */
#ifndef SEEN_CLI_HOOKS_ADAPTER_H
#define SEEN_CLI_HOOKS_ADAPTER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "cli/files/file_lines.h"

struct hook_input;

/* When the agent runs its hook. */
enum hook_moment {
	HOOK_OTHER,   /* nothing is answered */
	HOOK_START,   /* a conversation begins, or goes on: `source` tells which */
	HOOK_REWIND,  /* the youngest messages are taken out of the conversation */
	HOOK_RESUMED, /* after another one of the same process */
	HOOK_PROMPT,
	HOOK_BEFORE_TOOL,
	HOOK_AFTER_TOOL,
	HOOK_TOOL_FAILED, /* instead of HOOK_AFTER_TOOL */
};

/* An event as the agent calls it; a list ends with one that has no name. */
struct hook_event {
	const char *name;
	enum hook_moment moment;
};

enum hook_tool_kind {
	HOOK_TOOL_OTHER,
	HOOK_TOOL_READ,   /* gives a file */
	HOOK_TOOL_EDIT,   /* changes parts of a file */
	HOOK_TOOL_WRITE,  /* writes a file anew */
	HOOK_TOOL_SHELL,  /* runs a command */
	HOOK_TOOL_SEARCH, /* searches or lists files */
};

/* A tool as the agent calls it, and the members of its input; a list ends with one that has no
 * name. */
struct hook_tool {
	const char *name;
	enum hook_tool_kind kind;
	const char *file;         /* a path, absolute or from the directory; NULL: it has none */
	const char *patch;        /* HOOK_TOOL_EDIT: a patch that names files (patched_files.h) */
	const char *first, *last; /* HOOK_TOOL_READ: numbers of lines, from 1; NULL: it has none */
	const char *count;        /* and of how many */
	const char *content;      /* HOOK_TOOL_WRITE: what the file is to hold; NULL: it has none */
};

/* Members of the document that a hook is given; NULL: it has none. */
struct hook_members {
	const char *event, *directory;
	const char *conversation;
	const char *transcript; /* a path */
	const char *sub_agent;  /* whose conversation it is instead, where that is set */
	const char *source;     /* HOOK_START: why: "startup", "resume", "clear", "compact" */
	/* HOOK_START, "resume": an object: the lengths of the results that it has, by ids of calls. */
	const char *results;
	const char *prompt, *words; /* the id of a prompt, and its words */
	const char *call, *tool, *tool_input, *tool_output;
};

/* What a tool's output proves. */
enum hook_shown {
	HOOK_SHOWN_NOTHING,   /* nothing: an error, a picture */
	HOOK_SHOWN_SOMETHING, /* it is of the file; which bytes is not known */
	HOOK_SHOWN_LINES,     /* it holds these lines of the file byte for byte, each whole */
	HOOK_SHOWN_UNCHANGED, /* the agent's own words that it gave the file before */
};

/* A text for the model in place of a tool's output. */
struct hook_text {
	const char *bytes;
	size_t length;
	const struct file_lines *lines; /* of the file, which it is; NULL: seen's own words */
};

struct hook_adapter {
	const char *agent; /* of `seen answer hook AGENT` */
	struct hook_members members;
	const struct hook_event *events;
	const struct hook_tool *tools;
	/* The agent cuts what its hook was given, a text: one beyond the limits of the agent's
	 * profile proves nothing. */
	bool is_cut;
	/* Its hook is not told which of the agent's conversations a tool call is of. */
	bool hides_sub_agents;
	/* Its hook reports each conversation that begins, goes back, or goes on after another one, and
	 * each turn that begins beside another's, before that calls a tool: no transcript has to show
	 * first whose turn it is. */
	bool reports_conversations;
	/* Names of instruction files that it gives to the model by itself; ended by NULL. */
	const char *const *instructions;
	size_t text_max; /* characters that add() may give at once */

	/* shown(): which lines of a file the output of its read tool holds.
	 *
	 * file: its bytes.  Writes *ret_lines for HOOK_SHOWN_LINES alone.  NULL: the agent does not
	 * tell its hook what a tool gave. */
	enum hook_shown (*shown)(const struct hook_input *input, const char *file, size_t length,
				 struct file_lines *ret_lines);

	/* output(): what its shell tool's command printed, as the model is given it: a text, borrowed;
	 * NULL: not known.  ret_is_cut: the model is given a part of that.  NULL: the agent does not
	 * tell its hook. */
	const json_t *(*output)(const struct hook_input *input, bool *ret_is_cut);

	/* failed(): after its shell tool: may the command have failed?  The step's status is asked
	 * besides.  NULL: the agent has an event for that, or does not tell its hook. */
	bool (*failed)(const struct hook_input *input);

	/* may_differ(): may the model be given another output than the hook was: by other hooks of
	 * the user's, for one?  In doubt it may; then nothing is answered or recorded.
	 * agent_pid: of the agent's process. */
	bool (*may_differ)(const struct hook_input *input, uint32_t agent_pid);

	/* is_unchanged(): after a tool that edits or writes: does its output show that the file held
	 * that content before?  NULL: it shows no such thing, and the model gets that before. */
	bool (*is_unchanged)(const struct hook_input *input);

	/* Documents for the agent, new references; NULL: there is none for it, and
	 * the agent goes on as ever.
	 * A function that is NULL: the agent has no such answer.
	 *
	 * replace(): another output of the tool, of the same shape.  After the tool alone.
	 * refuse(): the tool is not run, and the model is given the reason.  Before the tool alone.
	 * add(): the model is given a text besides. */
	json_t *(*replace)(const struct hook_input *input, const struct hook_text *text);
	json_t *(*refuse)(const struct hook_input *input, const char *reason);
	json_t *(*add)(const struct hook_input *input, const char *text);
};

#define HOOK_ADAPTERS(X) X(claude) X(codex) X(cline) X(gemini) X(opencode) X(pi) X(qwen)

#define HOOK_ADAPTER_DECLARE(name) extern const struct hook_adapter hook_adapter_##name;
HOOK_ADAPTERS(HOOK_ADAPTER_DECLARE)
#undef HOOK_ADAPTER_DECLARE

/* hook_adapter_find(): by the agent's name; NULL: its hooks do not answer. */
const struct hook_adapter *hook_adapter_find(const char *agent);

#endif
