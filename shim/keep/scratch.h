/* Memory for paths, of which there is a fixed number: see scratch_acquire(). */
#ifndef SEEN_SHIM_SCRATCH_H
#define SEEN_SHIM_SCRATCH_H

/* scratch_acquire(): SEGMENT_PATH_BYTES of memory for a path: stacks of signal handlers and threads
 * are small.  NULL when all are in use (then the event is lost).  scratch_release(): gives it back;
 * NULL is let pass.  Lock-free. */
char *scratch_acquire(void);
void scratch_release(char *scratch);

/* scratch_reset(): in a copy that fork made: what the parent's threads had taken is free. */
void scratch_reset(void);

#endif
