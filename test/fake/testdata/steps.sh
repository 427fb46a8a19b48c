# One rank of a training job: steps.sh WAY. test/fake/progress_test.go and scripts/progress.txtar use the ways.
rank=${RANK:-${OMPI_COMM_WORLD_RANK:-$PMI_RANK}}
say() { echo "step $1 loss=$2"; }
steps() { # FROM TO PAUSE
	i=$1
	while [ "$i" -le "$2" ]; do
		say "$i" 0.5
		sleep "$3"
		i=$((i + 1))
	done
}
case $1 in
stalled) steps 1 3 0.2; sleep 60 ;;
repeats) while :; do say 7 0.5; sleep 0.2; done ;;
shrinking) say 1000 0.5; steps 1 300 0.2 ;;
absent) while :; do echo loading; sleep 0.2; done ;;
nan) steps 1 3 0.2; [ "$rank" = 1 ] && say 4 nan; sleep 60 ;;
slow) steps 1 5 2 ;;
bar) i=0; while [ $i -lt 12 ]; do i=$((i + 1)); printf 'step %d\r' $i >&2; sleep 0.5; done ;;
restart)
	# The first attempt stalls at step 3. The second one starts at 1.
	if [ "$MUSTER_ATTEMPT" = 0 ]; then steps 1 3 0.2; sleep 60; fi
	steps 1 3 1 ;;
leaves) [ "$rank" = 0 ] || sleep 60 ;;
uneven) [ "$rank" = 1 ] && pause=0.17 times=60 || pause=0.1 times=90; steps 1 $times $pause ;;
one) if [ "$rank" = 1 ]; then steps 1 3 0.2; sleep 60; fi; steps 1 60 0.2 ;;
esac
