"""A small set of rows in which every pair of values of every two columns occurs."""

import itertools


def pairwise(**columns):
    """Greedy: each row starts with an uncovered pair and takes, column by column, the value that
    covers most of what is left. Deterministic. Returns dicts."""
    names = list(columns)
    left = {((a, x), (b, y))
            for a, b in itertools.combinations(names, 2)
            for x in columns[a] for y in columns[b]}

    def gain(row, name, value):
        chosen = {**row, name: value}
        return sum(((a, chosen[a]), (b, chosen[b])) in left
                   for a, b in itertools.combinations(names, 2)
                   if name in (a, b) and a in chosen and b in chosen)

    order = sorted(left, key=repr)
    rows = []
    while left:
        row = dict(next(pair for pair in order if pair in left))
        for name in names:
            if name not in row:
                row[name] = max(columns[name], key=lambda value: gain(row, name, value))
        left -= {((a, row[a]), (b, row[b])) for a, b in itertools.combinations(names, 2)}
        rows.append({name: row[name] for name in names})
    return rows
