// Command throughput measures how fast the output of a program in a worker's pod
// reaches the launcher's pod, through the whole path:
//
//	launcher - API server - kubelet - containerd - agent attach - PID 1 - program
//
// It compares that with kubectl exec of the same program in the same pods with the same rights,
// over WebSocket (its default) and over SPDY.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run bench/throughput
//
// # Rounds
//
// A round is one transfer of each contender, in turn. Every second round is in reverse order,
// so that a temporary slowdown of the machine affects all contenders. Each
// transfer is a file from the worker's page cache to wc in the launcher's pod. The
// first round is a warm-up and does not count. The received bytes are compared with
// the sent ones: a byte that Muster loses is an error. kubectl exec does lose bytes on
// a busy machine, with exit code 0. Its rate is that of the received bytes, and the notes say how
// many were lost.
//
// Concurrent sessions go to one worker: Muster has one link for them, kubectl one
// stream for each. The opposite direction is a file in the launcher's pod to wc in the
// worker's.
//
// # CPU time
//
// CPU time is by cgroup: of all processes of the launcher's pod and of the worker's, including the
// program itself, which is the same for all contenders. The machine's CPU time is from /proc/stat, and includes
// the API server, the kubelet and containerd.
package main
