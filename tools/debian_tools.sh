#!/usr/bin/env bash
# Debian's programs that some gates need beside Python. Installs what is missing where it may (root
# and apt-get); elsewhere it says what will go unchecked, and the rest still runs.
set -euo pipefail

# The image is built and run with the first four; promtool comes with prometheus; the page is tested
# in chromium, since playwright's own browsers are no packages; the JavaScript example runs in node.
packages=(buildah mmdebstrap umoci runc prometheus chromium nodejs)
programs=(buildah mmdebstrap umoci runc promtool chromium node)

missing=()
for n in "${!programs[@]}"; do
    command -v "${programs[n]}" >/dev/null || missing+=("${packages[n]}")
done
if ((${#missing[@]} == 0)); then
    echo "nothing is missing"
elif ((EUID == 0)) && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    echo "installed: ${missing[*]}"
else
    echo "NOT CHECKED on this machine, because ${missing[*]} cannot be installed (root and apt-get):" >&2
    echo "building the image and starting every service from it, the alert rules' own tests, what a" >&2
    echo "Prometheus scrapes, the page in a browser, and the JavaScript of examples and docs" >&2
fi
