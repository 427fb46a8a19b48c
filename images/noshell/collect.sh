#!/bin/sh
# collect.sh ROOT PROGRAM...: copies programs, the libraries that they load, and
# Open MPI's components and data files to the same paths below ROOT.
set -eu
root=$1
shift
mkdir -p "$root/tmp"
chmod 1777 "$root/tmp"

components=$(find /usr/lib/*/openmpi/lib /usr/lib/*/pmix2/lib /usr/lib/*/hwloc -name '*.so' 2>/dev/null)
for file in "$@" $components; do
    echo "$file"
        # Open MPI itself also skips components for hardware whose library is missing.
    ldd "$file" | awk '$2 == "=>" && $3 ~ /^\// {print $3} $1 ~ /^\// {print $1}'
done | sort -u >/tmp/files

# --parents keeps the path, and -L copies the target of a link.
xargs cp -L --parents -t "$root" </tmp/files
for dir in /etc/openmpi /etc/pmix* /usr/share/openmpi /usr/share/pmix* /usr/lib/*/pmix2/share; do
    if [ -d "$dir" ]; then cp -rL --parents "$dir" "$root"; fi
done
