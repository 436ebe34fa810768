/*
 * The readers of transcripts, one for each format of TRANSCRIPTS (transcript.h):
 * transcript_FORMAT.c.
 */
#ifndef SEEN_CLI_TRANSCRIPT_FORMATS_H
#define SEEN_CLI_TRANSCRIPT_FORMATS_H

#include "cli/replay/transcript_reader.h"

/* Readers: from the beginning of transcript->walk to its end; the journal's and the databases' open the file
 * by themselves.  As transcript_read(). */
int transcript_claude(struct transcript *transcript);
int transcript_codex(struct transcript *transcript);
int transcript_pi(struct transcript *transcript);
int transcript_gemini(struct transcript *transcript);
int transcript_cline(struct transcript *transcript);
int transcript_opencode(struct transcript *transcript);
int transcript_swe_agent(struct transcript *transcript);
int transcript_openhands(struct transcript *transcript);
int transcript_messages(struct transcript *transcript);
int transcript_journal(struct transcript *transcript);

#endif
