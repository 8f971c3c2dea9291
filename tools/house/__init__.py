"""How large and how plain the repository is, as one table.

`python -m tools.house` prints it; `--json FILE` keeps the figures, and
`--before FILE` puts kept ones beside today's.

    files.py    the Python files of product and tests, and what each imports
    code.py     figures of the code: modules, lines, imports, names, settings, reasons
    prose.py    figures of the prose: length of sentences, docstrings without a verb

A figure is a place to look, no gate.
"""
