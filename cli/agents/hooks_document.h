/*
 * Hooks in a JSON document of an agent's settings: which are seen's, whether all are there, and how
 * they are put in and taken out, as text (json_edit.h).  No file is read or written here.
 *
 * wanted: a document that has, under "hooks", those that are to be there.
 */
#ifndef SEEN_CLI_HOOKS_DOCUMENT_H
#define SEEN_CLI_HOOKS_DOCUMENT_H

#include <jansson.h>

#include "cli/agents/hooks.h"
#include "cli/base/json_edit.h"

/* hooks_document_state(): of the hooks of a document: HOOKS_ABSENT, HOOKS_INSTALLED or
 * HOOKS_OTHER. */
enum hooks_state hooks_document_state(const json_t *document, const json_t *wanted);

/* hooks_document_insert(): puts in all that is to be there.
 *
 * text: without hooks of ours; its bytes are owned, and may be others afterwards.
 * Returns 0, or an error of json_edit_insert(); then a part may have been put in. */
int hooks_document_insert(struct json_text *text, const json_t *wanted);

/* hooks_document_remove(): takes every hook of ours out, and what was made for them alone.
 *
 * text: as for hooks_document_insert().
 * Returns 0, or -ENOMEM; then a part may have been taken out. */
int hooks_document_remove(struct json_text *text);

#endif
