# Each rank writes a file below a shared directory, and reads those of all others.
set -eu
nvidia-smi -L 2>/dev/null || true
mkdir -p "$1"
echo "from rank $RANK" >"$1/part-$RANK"
rank=0
while [ "$rank" -lt "$WORLD_SIZE" ]; do
	until [ -s "$1/part-$rank" ]; do sleep 1; done
	rank=$((rank + 1))
done
echo "rank $RANK reads $(cat "$1"/part-* | wc -l) files"
