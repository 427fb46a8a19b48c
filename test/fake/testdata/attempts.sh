# A program's beginning: it counts the processes of this test's run that belong to an earlier
# attempt, by what /proc says of their environment at that moment, and prints their number. The
# ranks of one attempt begin at once, so each is the first to look. The first attempt leaves a
# child behind that has left its group and does not heed TERM; Hydra would wait for one that has
# a descriptor of its own.
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
