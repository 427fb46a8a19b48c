#!/bin/sh
# run.sh: check session.pml within the bounds below, and check that each mutation violates the property that it
# should break.
#
# It writes the raw numbers to $MUSTER_OUT/raw/model.json (default: out/ of the checkout) and records the rows.
# Trails of violations stay in $MUSTER_OUT/model. Two checks run at a time. MEMLIM (MiB, default 900) limits each of
# them. It exits with 1 if a check fails, or if spin or gcc is missing.
set -eu
cd "$(dirname "$0")"
here=$(pwd)
root=$(cd ../.. && pwd)
out=${MUSTER_OUT:-$root/out}
work=$out/model
limit=${MEMLIM:-900}

for tool in spin gcc; do
	command -v $tool >/dev/null || { echo "run.sh: $tool not found; install Debian's packages spin and gcc" >&2; exit 1; }
done

# NAME BOUND...: the sound model. "cycles" searches for an execution that does not end; the others search for a
# violated property.
scenarios() {
	cat <<-'END'
	cut          -DCUTS=1 -DOUT=2 -DIN=1 -DCTL=1
	twice        -DCUTS=2 -DOUT=1 -DIN=0 -DCTL=0 -DCAP=1
	signal       -DCUTS=2 -DOUT=0 -DIN=0 -DCTL=1 -DCAP=1
	stdin        -DCUTS=1 -DOUT=0 -DIN=2 -DCTL=1
	restart      -DCUTS=1 -DOUT=1 -DIN=0 -DCTL=0 -DRESTARTS=1 -DLEASES=1
	epochs       -DCUTS=0 -DOUT=1 -DIN=0 -DCTL=0 -DEPOCHS=2 -DLEASES=1 -DCAP=1
	end          -DCUTS=0 -DOUT=0 -DIN=0 -DCTL=0 -DEPOCHS=2 -DENDS=1 -DCAP=1
	cycles       -DCUTS=1 -DOUT=1 -DIN=1 -DCTL=0
	cycles2      -DCUTS=0 -DOUT=0 -DIN=0 -DCTL=0 -DEPOCHS=2 -DCAP=1
	END
}

# MUTATION PROPERTY BOUND...
mutations() {
	cat <<-'END'
	ACK_EARLY       no_byte_lost    -DCUTS=0 -DOUT=2 -DIN=0 -DCTL=0
	FORGET_EARLY    no_byte_lost    -DCUTS=0 -DOUT=2 -DIN=0 -DCTL=0
	ABORT_ON_LOSS   no_byte_lost    -DCUTS=0 -DOUT=1 -DIN=0 -DCTL=0 -DRESTARTS=1
	NO_SKIP         no_byte_doubled -DCUTS=1 -DOUT=0 -DIN=2 -DCTL=0
	IGNORE_INSTANCE one_start       -DCUTS=1 -DOUT=1 -DIN=0 -DCTL=0 -DRESTARTS=1
	LOWER_EPOCH     fenced          -DCUTS=0 -DOUT=1 -DIN=0 -DCTL=0 -DEPOCHS=2
	FENCE_BUFFER    fenced          -DCUTS=0 -DOUT=1 -DIN=0 -DCTL=0 -DEPOCHS=2 -DENDS=1
	START_BLIND     progress        -DCUTS=1 -DOUT=0 -DIN=0 -DCTL=1
	LATE_CONFIRM    forgotten       -DCUTS=0 -DOUT=0 -DIN=0 -DCTL=0
	END
}

# check NAME PAN-FLAGS CC-FLAGS SPIN-FLAGS: runs in its own directory and leaves the output of pan in pan.txt.
check() {
	dir=$work/$1
	rm -rf "$dir" && mkdir -p "$dir" && cd "$dir" && cp "$here/session.pml" .
	# shellcheck disable=SC2086 # flags are words
	{ spin -a $4 session.pml && nice -n 15 gcc $3 -w -DCOLLAPSE -DMEMLIM="$limit" -o pan pan.c &&
		nice -n 15 ./pan $2; } >pan.txt 2>&1 || true
	rm -f pan pan.? pan.??
	cd "$here"
}

number() { sed -n "$1" "$work/$2/pan.txt" | head -n 1; }
states() { number 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$1"; }
depth() { number 's/.*depth reached \([0-9]*\),.*/\1/p' "$1"; }
errors() { number 's/.*errors: \([0-9]*\)$/\1/p' "$1"; }
# complete: pan has searched every state within the bound.
complete() { [ -n "$(errors "$1")" ] && ! grep -q -e 'not completed' -e 'max search depth' -e 'reached -DMEMLIM' "$work/$1/pan.txt"; }

run_all() { # every second line of the list, from line $1 on
	{
		scenarios | while read -r name flags; do
			case $name in
			cycles*) echo "$name|-n -l -m200000|-O1 -DNP|$flags" ;;
			*) echo "$name|-n -m200000|-O1 -DSAFETY|$flags" ;;
			esac
		done
		mutations | while read -r name _ flags; do
			echo "$name|-n|-O0 -DSAFETY -DBFS|-D$name $flags"
		done
	} | awk -v part="$1" 'NR % 2 == part' | while IFS='|' read -r name pan cc flags; do check "$name" "$pan" "$cc" "$flags"; done
}

mkdir -p "$work" "$out/raw"
start=$(date +%s)
run_all 0 &
other=$!
run_all 1
wait $other

total=0 sound=0 unsound=0 found=0 missed=0
rows=
while read -r name flags; do
	n=$(states "$name") e=$(errors "$name") d=$(depth "$name")
	if complete "$name" && [ "$e" = 0 ]; then sound=$((sound + 1)); else unsound=$((unsound + 1)); fi
	complete "$name" || e="${e:-?}, not completed"
	echo "model $name ($flags): ${n:-?} states, depth ${d:-?}, errors: $e"
	total=$(awk "BEGIN { printf \"%d\", $total + ${n:-0} }")
	rows="$rows  \"$name\": {\"bound\": \"$flags\", \"states\": ${n:-0}, \"depth\": ${d:-0}, \"errors\": ${e%%[!0-9]*}},
"
done <<END
$(scenarios)
END
while read -r name property flags; do
	line=$(grep '^pan:1: assertion violated' "$work/$name/pan.txt" || true)
	seen=$(echo "$line" | grep -o -w -e no_byte_lost -e no_byte_doubled -e one_start -e exit_once -e no_false_success -e fenced \
		-e flow_bounded -e controls_in_order -e offsets_agree -e progress -e nothing_left -e forgotten | head -n 1 || true)
	if [ "$seen" = "$property" ]; then
		found=$((found + 1))
		echo "mutation $name: found by $seen, $(states "$name") states, trail of $(depth "$name") steps"
	else
		missed=$((missed + 1))
		echo "mutation $name: NOT found by $property (${seen:-nothing}); $work/$name/pan.txt"
	fi
	rows="$rows  \"$name\": {\"bound\": \"$flags\", \"property\": \"$seen\", \"states\": $(states "$name" | grep . || echo 0)},
"
done <<END
$(mutations)
END
seconds=$(($(date +%s) - start))
printf '{\n "runs": {\n%s\n },\n "states": %s,\n "sound": %s,\n "unsound": %s,\n "found": %s,\n "missed": %s,\n "seconds": %s\n}\n' \
	"$(printf %s "$rows" | sed '$ s/,$//')" "$total" "$sound" "$unsound" "$found" "$missed" "$seconds" >"$out/raw/model.json"

cd "$root"
record() {
	MUSTER_OUT=$out go run ./test/suite record --name "$1" --log "raw/model.json#$2" --op "$3" --bar "$4" --command 'sh test/model/run.sh'
}
status=0
record 'protocol model: scenarios with an error, or not searched to the end' unsound '==' 0 || status=1
record 'protocol model: states searched' states '>=' 1000000 || status=1
record 'protocol model: mutations found' found '==' "$(mutations | wc -l)" || status=1
record 'protocol model: mutations missed' missed '==' 0 || status=1
echo "model: $sound scenarios sound, $unsound not; $found mutations found, $missed missed; $total states in $seconds s"
exit $status
