"""Plots of a JSON document (schema.json) as SVG, drawn by gnuplot; each for light pages and for dark ones."""
import shutil
import subprocess

from .place import LIMIT_S, Failed
from .tables import PEER_KINDS

THEMES = {
    "light": {"text": "#24292f", "grid": "#d0d7de", "seen": "#2563c4", "plain": "#6e7781", "others": "#b8570d", "bad": "#b42318"},
    "dark": {"text": "#c9d1d9", "grid": "#30363d", "seen": "#6ea8fe", "plain": "#8b949e", "others": "#f0983e", "bad": "#ff7b72"},
}
COLORS = {"injection": "plain", "bare": "plain", "floor": "plain", "seen": "seen"}  # of kinds; else "others"
MOST_PANELS = 12
COLUMNS = 3
FONT = "DejaVu Sans,Helvetica,Arial,sans-serif"


def gnuplot(script):
    """What gnuplot writes to its standard output.  Raises Failed where there is none, or it complains."""
    if not shutil.which("gnuplot"):
        raise Failed("no plot: gnuplot is not installed: apt-get install gnuplot-nox")
    done = subprocess.run(["gnuplot", "-"], input=script, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0 or done.stderr.strip() or not done.stdout.startswith("<?xml"):
        raise Failed("gnuplot: exit status %d: %s" % (done.returncode, done.stderr.strip()[:500]))
    return done.stdout


def head(theme, width, height):
    return """set encoding utf8
set terminal svg noenhanced size {width},{height} dynamic font '{font},12' linewidth 1.2
set border 1 linecolor rgb '{grid}'
set tics textcolor rgb '{text}' nomirror scale 0
set title textcolor rgb '{text}'
set xlabel textcolor rgb '{text}'
set grid xtics linecolor rgb '{grid}' linetype 1 linewidth 0.5
set style line 1 linecolor rgb '{plain}' pointtype 7 pointsize 0.55 linewidth 1.2
set style line 2 linecolor rgb '{seen}' pointtype 7 pointsize 0.55 linewidth 1.2
set style line 3 linecolor rgb '{others}' pointtype 7 pointsize 0.55 linewidth 1.2
set style line 4 linecolor rgb '{bad}' pointtype 7 pointsize 0.55 linewidth 1.2
unset key
""".format(width=width, height=height, font=FONT, **THEMES[theme])


LINES = {"plain": 1, "seen": 2, "others": 3, "bad": 4}


def quoted(text):
    """A string of gnuplot."""
    return "'" + text.replace("'", "''") + "'"


def block(name, rows):
    """A block of data: rows of numbers."""
    return "$%s << EOD\n%s\nEOD\n" % (name, "\n".join(" ".join("%.6g" % value for value in row) for row in rows))


def dots(rows):
    """(blocks, plot command) of median and quartiles: rows of (y, three, color)."""
    blocks, parts = "", []
    for color, line in LINES.items():
        chosen = [(three[1], y, three[0], three[2]) for y, three, of in rows if of == color]
        if chosen:
            blocks += block(color, chosen)
            parts.append("$%s using 1:2:3:4 with xerrorbars linestyle %d" % (color, line))
    return blocks, "plot " + ", ".join(parts) + "\n"


def labels(names):
    """Tics of the y axis, the first name on top."""
    return "set ytics (%s)\nset yrange [%g:%g]\n" % (
        ", ".join("%s %d" % (quoted(name), -i) for i, name in enumerate(names)), -len(names) + 0.5, 0.5)


def compared_works(result):
    """The works of which a panel is drawn: those that most of the others do too."""
    others = [way["name"] for way in result["ways"] if way["kind"] in PEER_KINDS]
    found = [entry for entry in result["works"] if not entry["own"] and "bare" in entry["bases"] and
             2 * sum(way in entry["ways"] for way in others) > len(others) > 0]
    most = sorted(found, key=lambda entry: (-bool(entry["goals"]), -len(entry["ways"])))[:MOST_PANELS]
    return [entry for entry in found if entry in most]


def ratios(result, theme):
    """SVG: for each work a panel, the time of each way to bare's, median and quartiles; None if there is nothing to draw."""
    works = compared_works(result)
    if not works:
        return None
    kinds = {way["name"]: way["kind"] for way in result["ways"]}
    names = [way["name"] for way in result["ways"] if way["name"] != "bare" and any(way["name"] in entry["ways"] for entry in works)]
    columns = min(COLUMNS, len(works))
    rows = -(-len(works) // columns)
    height = 90 + 16 * len(names)
    highest = max(figures["wall_to"]["bare"][2] for entry in works for figures in entry["ways"].values())
    script = head(theme, 340 * columns, height * rows) + """set multiplot layout {rows},{columns} margins char 15, char 3, char 3, char 3 spacing char 15, char 5
set logscale x 10
set xrange [0.7:{most}]
set xtics ('1×' 1, '2×' 2, '5×' 5, '10×' 10, '20×' 20, '50×' 50, '100×' 100, '200×' 200, '500×' 500, '1000×' 1000)
""".format(rows=rows, columns=columns, most=max(3, highest * 1.3))
    for entry in works:
        drawn = [(-names.index(way), figures["wall_to"]["bare"], COLORS.get(kinds[way], "others"))
                 for way, figures in entry["ways"].items() if way in names]
        blocks, plot = dots(drawn)
        script += labels(names) + "set title %s font ',11' offset -4 textcolor rgb %s\n" % (quoted(entry["work"]), quoted(THEMES[theme]["text"])) + blocks + plot
        script += "undefine $*\n"
    return gnuplot(script + "unset multiplot\n")


def goals(result, theme):
    """SVG: each goal's figure as a share of its limit; None if there is none."""
    verdicts = result["goals"]
    if not verdicts:
        return None
    names = ["%s, %s" % (verdict["title"], verdict["work"]) if sum(other["title"] == verdict["title"] for other in verdicts) > 1
             else verdict["title"] for verdict in verdicts]
    shares = [[value / verdict["limit"] for value in verdict["value"]] for verdict in verdicts]
    low, high = min(0.5, *(share[0] for share in shares)), max(2, *(share[2] for share in shares))
    script = head(theme, 990, 70 + 20 * len(names)) + """set logscale x 10
set xrange [{low}:{high}]
set xtics ('1/50' 0.02, '1/20' 0.05, '1/10' 0.1, '1/5' 0.2, '1/2' 0.5, 'the goal' 1, '2×' 2, '5×' 5, '10×' 10, '20×' 20, '50×' 50, '100×' 100)
set lmargin {margin}
set arrow 1 from 1,graph 0 to 1,graph 1 nohead linecolor rgb '{color}' linewidth 1.5
""".format(low=max(0.01, low * 0.8), high=high * 1.25, margin=max(map(len, names)) * 0.95 + 2, color=THEMES[theme]["plain"])
    blocks, plot = dots([(-i, [max(part, 0.011) for part in share], "seen" if verdict["met"] else "bad")
                         for i, (verdict, share) in enumerate(zip(verdicts, shares))])
    return gnuplot(script + labels(names) + blocks + plot)


PLOTS = {"goals": goals, "ratios": ratios}
