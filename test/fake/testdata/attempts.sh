# The beginning of a program. It counts the processes of this test's run that belong to an earlier attempt, by their
# current environment in /proc, and prints their number. The ranks of one attempt start at the same time, so each of
# them is the first to look. The first attempt leaves a child that has left its process group and ignores TERM. The
# child closes its descriptors, because Hydra waits for a child that holds one of its descriptors.
old=0
if [ "$MUSTER_ATTEMPT" -gt 0 ]; then
	for e in $(grep -lzs "^FAKE_TEST=$FAKE_TEST$" /proc/[0-9]*/environ); do
		a=$(tr '\0' '\n' 2>/dev/null <$e | sed -n 's/^MUSTER_ATTEMPT=//p')
		s=$(tr '\0' '\n' 2>/dev/null <$e | sed -n 's/^MUSTER_SESSION=//p')
		[ -n "$a" ] && [ "$a" -lt "$MUSTER_ATTEMPT" ] && old=$((old+1)) && echo "old: $e $s $(tr '\0' ' ' <${e%environ}cmdline)"
	done
fi
echo "attempt $MUSTER_ATTEMPT sees $old"
if [ "$MUSTER_ATTEMPT" = 0 ]; then
	setsid bash -c 'for f in /proc/$$/fd/*; do [ ${f##*/} -lt 3 ] || eval "exec ${f##*/}>&-"; done; trap "" TERM; while :; do sleep 0.1; done' >/dev/null 2>&1 </dev/null &
fi
