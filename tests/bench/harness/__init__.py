"""The harness of tests/bench: the same work by many ways, side by side.

One file, one purpose:

  place.py     directories, environments, how a command is run there and what counts as a run that failed
  way.py       what a way is
  ways.py      the ways that a command can be run in: bare, injected, seen's, tracers; all of them, and sets of their names
  peers.py     the ways of others: libraries, tracers and watchers that are not seen's
  works.py     what a work is; finds the works, which are in works_*.py
  runner.py    rounds and turns: who is measured when, and how often
  figures.py   medians, quartiles, ratios
  goals.py     the goals: one table
  machine.py   what it was measured on
  tables.py    text and Markdown
  plot.py      SVG
  page.py      build/performance.md and its first page, docs/performance.md: pure functions of the JSON
  ../run       the command line

Rules of a Way (way.py)
-----------------------
A way is a manner to run a command.  It has

  name         a few words, unique; what works, options and tables call it
  description  one sentence: what it is
  records      one sentence: what it writes down or does, so that its ratio can be understood
  kind         "bare", "injection", "seen", "floor", "tracer" or "peer"
  static       whether it also sees a program without a dynamic loader (no library gets into such a one)
  needs        the packages that must be installed, for scripts/bench and messages: Debian's names, or npm:NAME@VERSION
  can          keys of way.ABILITIES: what it records or does, for the page's table
  library      a part of the path of the one library that it puts into a process, or ""
  filtered     whether a process has a seccomp filter by it; None: that depends on the machine
  traced       whether a process has a tracer

  available()                   "" or, in one line, what is missing and the remedy.  Starts nothing that stays.
  permitted()                   "" or, in one line, why this machine does not let it work, where that is the machine's right (fatrace
                                needs root).  Such a way is left out, and the tables and the page say why.  Default: "".
  before(place)                 starts what must run beside a command.  Default: nothing.
  wrap(place, command, env)     (words, environment) that run the command in this way.  env is the complete environment
                                that the command would have bare: return a changed copy, never change it.  The words must exit
                                with the command's status, pass its standard output on unchanged, and print nothing
                                of their own to it.
  errors(stderr)                what of standard error is the command's own (a peer may greet).  Default: all of it.  What
                                remains must be empty, else the run failed.
  prove(place)                  once, before anything is measured: runs something by place.run(self.name, ...) and raises
                                Failed unless this way really was at work (its library in /proc/self/maps, a tracer in
                                /proc/self/status, a log with entries) and nothing else was.
  inside(place, shown)          after every sample: raises Failed unless the very program that reported has the library, filter and
                                tracer of this way and no other's, by its /proc/self/maps and status (report.h).
  after(place)                  after every run: ends what before() started, raises Failed unless its log has what it must
                                have, and removes the log.  Is not measured, but must be cheap (a stat, a short read).
  store_bytes(place)            the apparent size of what is kept for undo.  Default: 0
  finish(place)                 after all samples of a work: {name: number} of what is asked once only (counters of a session).

A way that needs root, a kernel feature or a permission that is not there says so in available(): the harness then ends with
exit status 1 and that line.  Only `--without NAME` leaves a way out, and the page says so.  permitted() is for ways of which that
is known beforehand.

Rules of a Work (works.py)
--------------------------
A work is something that is measured, by several ways.  It has

  name, group  the group is a key of works.GROUPS; the name is unique and says the size
  about        one sentence for the page.  Default: none
  unit         ("us", 1000): the unit of the tables and how many ns it is
  ways         names of ways that say something about it, "bare" first.  Use the sets of ways.py, so that a new peer is
               taken by itself.  A name may also be the work's own (a size, a number of writers), then `own` describes it
  own          {name: sentence} of such names
  compare      "wall" or "cpu": which ratios the table of a work with ways of its own shows
  bases        what ratios are taken to.  Default: those of ("bare", "injected", "floor", "undo off" and the like) that it has
  goals        keys of goals.py
  programs     names that PATH must have (works.PACKAGES has their packages), needs: further packages, as a way's
  repeats      samples of each way within a round, at most; the time budget may make it fewer
  share        of the time that a full run may take; 1.0 is usual, half of that without a goal.  Also of a Study, which keeps to it by itself

  available()           "" or, in one line, what is missing and the remedy.  Default: about `programs`
  prepare()             once, not measured: makes files.  Everything below place.work or place.top.  It may take long.
  sample(way, number)   one Sample.  number: of the round, -1 is the warm-up.  Uses place.sample() or place.run(), which check exit
                        status, standard error and the way's log; raises Failed unless the output is right: there is no
                        figure from a run that did not do its work.
  check(way, output)    whether standard output is what it must be
  clean()               removes what takes room.  Default: nothing

A Sample is (wall_ns, cpu_ns, extra): one iteration's; extra is a dict of other numbers (bytes, events, tokens), whose median
is taken.  Samples of all ways of one turn are neighbours in time, and a ratio is taken between neighbours.  Slow ways have fewer
rounds than fast ones: each has its part of the work's time budget (runner.py).

A Study is what does not fit (counts, not times): name, group, prepare(), measure(rounds) and clean(); measure() returns
{"data": anything that JSON can hold, "tables": [{"title", "header", "rows", "note"}] of text cells, "figures": {key: number}}.
A goal may be of such a figure.

A module works_X.py has works(place) -> [Work or Study]; it is found by its name.

A peer that fails in one run of a work is asked once more, which the tables and the page say; the second time is the end.

No figure is made up, no error is passed over: raise Failed with one line that names the way, the work and, where there is one,
the remedy.
"""
