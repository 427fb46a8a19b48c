// Command throughput measures how fast the output of a program in a worker's pod
// comes to the launcher's, through the whole path:
//
//	launcher - API server - kubelet - containerd - agent attach - PID 1 - program
//
// against kubectl exec of the same program in the same pods with the same rights,
// by WebSocket (its default) and by SPDY.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run bench/throughput
//
// # Rounds
//
// A round is one transfer of each contender, in turn, in the other order each second
// time, so that what slows the machine for a while slows them all. Each
// transfer is a file from the worker's page cache to wc in the launcher's pod. The
// first round warms up and is not counted. What comes through is compared with
// what was sent: a byte that Muster loses is an error. kubectl exec does lose bytes on
// a busy machine, with exit code 0; its rate is that of what came, and the notes say how
// many did not.
//
// Sessions at once go to one worker: Muster has one link for them, kubectl one
// stream for each. The other direction is a file in the launcher's pod to wc in the
// worker's.
//
// # CPU time
//
// By cgroup: all processes of the launcher's pod and of the worker's, with the
// program itself, which is the same for all; and the machine's by /proc/stat, where
// API server, kubelet and containerd are in it.
package main
