// Command streams measures what a pods/exec stream costs the API server and the kubelets, by SPDY and by
// WebSocket, on the cluster of test/lab/cluster.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run bench/streams -page docs/explanation/bench/streams.md
//
// # A round
//
// A worker pod runs for each stream. The links are the product's (exec/link over exec/remote), each fixed to
// one transport. In a round both transports take turns, and every second round is in reverse order:
//
//  1. nothing is held: readings, and the CPU time of a while
//  2. a link to each worker is held: the same
//  3. programs on some workers write 64 MiB each, one after the other
//  4. all links end, and the API server counts no stream any more
//
// Before the first round each transport holds all streams once, which does not count.
//
// # Metrics
//
// Goroutines, memory and CPU time are the processes' own metrics. Those of the kubelets are read through the
// API server, and added up. Memory is the live heap after a garbage collection, which each reading requests,
// plus stacks. The resident set is in the raw numbers; it follows slowly, and in jumps. CPU time of held streams
// is above that of the same time without streams, and includes the links' pings. The machine's CPU time
// includes containerd, the workers and this program, and is the same work for both transports.
//
// From 1.36 kubelets count the WebSockets that they translate themselves. The table says which process
// translates.
//
// # The page
//
// The page keeps its lines about versions that were not measured. Raw numbers are in
// out/raw/bench-streams-VERSION.json after each round. If a round fails, the others run anyway, and the
// exit status is 1. The figures and the page need three rounds.
package main
