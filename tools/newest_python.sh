#!/usr/bin/env bash
# Print the path of the newest Python on this machine that the project is tried with: on the PATH, or one of pyenv's.
set -euo pipefail

for minor in 13 12 11; do
    for found in "python3.$minor" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$minor".*/bin/python; do
        # A shim of pyenv is on the PATH also where its Python is not chosen.
        if "$found" -c '' 2>/dev/null; then
            command -v "$found"
            exit
        fi
    done
done
echo "No Python from 3.11 to 3.13 found on the PATH or among pyenv's: install one." >&2
exit 1
