#!/usr/bin/env python3
"""Prints the findings of `seen export --format sarif` as annotations of GitHub Actions: annotations.py SARIF"""
import json
import sys

LEVELS = {"error": "error", "warning": "warning", "note": "notice", "none": "notice"}
SHOWN_MAX = 10  # of each level: GitHub shows no more of a step


def escaped(text, is_property=False):
    """As the runner takes them apart: github.com/actions/toolkit, packages/core/src/command.ts."""
    for character, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"), *(((":", "%3A"), (",", "%2C")) if is_property else ())):
        text = text.replace(character, code)
    return text


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        results = [result for run in json.load(file)["runs"] for result in run["results"]]
    left = dict.fromkeys(LEVELS.values(), SHOWN_MAX)
    for result in results:
        level = LEVELS[result.get("level", "warning")]
        left[level] -= 1
        if left[level] < 0:
            continue
        properties = ["title=" + escaped("seen: " + result.get("ruleId", "finding"), True)]
        for location in result.get("locations", [])[:1]:
            place = location["physicalLocation"]
            properties.insert(0, "file=" + escaped(place["artifactLocation"]["uri"], True))
        print(f"::{level} {','.join(properties)}::{escaped(result['message']['text'])}")
    if any(count < 0 for count in left.values()):
        print(f"seen: {sum(-min(count, 0) for count in left.values())} findings more are in seen.sarif")


if __name__ == "__main__":
    main()
