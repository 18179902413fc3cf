#!/usr/bin/python3
"""Adds up JUnit reports and prints each suite's count, by group, then `N passed, N failed`.

  summary.py REPORT...                            print; exit 1 if anything failed or nothing ran
  summary.py --from-meson TESTLOG DIR REPORT      one report from meson's log, with the cases of those
                                                  programs that left DIR/<test>.xml behind
  summary.py --ensure-failure REPORT NAME         make sure that REPORT has a failure
  summary.py --passed REPORT NAME                 a report of one case that passed
"""

import collections
import pathlib
import sys
import textwrap
import xml.etree.ElementTree as xml


def cases(path):
    """[(name, failed)] of a JUnit file; None if there is no readable one."""
    try:
        root = xml.parse(path).getroot()
    except (OSError, xml.ParseError):
        return None
    found = {}
    for case in root.iter("testcase"):
        name = ": ".join(filter(None, (case.get("classname"), case.get("name"))))
        failed = any(case.find(kind) is not None for kind in ("failure", "error"))
        skipped = case.find("skipped") is not None
        # A skipped test proves nothing: it counts as failed.
        found[name] = found.get(name, False) or failed or skipped
    return list(found.items())


def write(path, results):
    suite = xml.Element("testsuite", name=pathlib.Path(path).stem)
    for name, failed in results:
        case = xml.SubElement(suite, "testcase", classname="", name=name)
        if failed:
            xml.SubElement(case, "failure")
    xml.ElementTree(suite).write(path)


def from_meson(testlog, reports, report):
    programs = cases(testlog)
    if not programs:
        print(f"no tests in {testlog}", file=sys.stderr)
        return 1
    results = []
    for full_name, failed in programs:
        program = full_name.split(" / ")[-1]
        inner = cases(pathlib.Path(reports) / f"{program}.xml")
        if not inner:
            results.append((program, failed))
            continue
        results += [(f"{program}: {name}", bad) for name, bad in inner]
        if failed and not any(bad for _, bad in inner):
            results.append((f"{program}: exit status", True))
    write(report, results)
    return 0


def ensure_failure(report, name):
    results = cases(report) or []
    if not any(failed for _, failed in results):
        write(report, [*results, (f"{name}: did not finish", True)])
    return 0


def group(name):
    """The file or program that a case is from."""
    return name.split(":")[0].rsplit(".", 1)[-1].removeprefix("test_")


def print_summary(paths):
    passed = failed = 0
    for path in paths:
        results = cases(path)
        if results is None:
            results = [("unreadable report", True)]
        bad = [name for name, is_bad in results if is_bad]
        print(f"{pathlib.Path(path).stem:>12}: {len(results) - len(bad)} passed, {len(bad)} failed")
        groups = collections.Counter(group(name) for name, _ in results)
        if len(groups) > 1:
            print(textwrap.fill(", ".join(f"{each} {count}" for each, count in sorted(groups.items())),
                                width=100, initial_indent=" " * 14, subsequent_indent=" " * 14))
        for name in bad:
            print(f"{'':>12}  failed: {name}")
        passed += len(results) - len(bad)
        failed += len(bad)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def main(arguments):
    if arguments[:1] == ["--from-meson"]:
        return from_meson(*arguments[1:])
    if arguments[:1] == ["--ensure-failure"]:
        return ensure_failure(*arguments[1:])
    if arguments[:1] == ["--passed"]:
        write(arguments[1], [(arguments[2], False)])
        return 0
    return print_summary(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
