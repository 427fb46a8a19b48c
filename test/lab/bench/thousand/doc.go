// Command thousand measures one launcher with as many workers as a large job has,
// against the API server of test/lab/cluster.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run bench/thousand                          all of it
//	test/lab/run bench/thousand -only scale              make bench-scale
//	test/lab/run bench/thousand -only output             make bench-output
//	test/lab/run bench/thousand -workers 2,20 -rounds 1 -hold 5s -seconds 3
//
// # Processes
//
// kwok simulates nodes and pods (package test/lab/kwok), which exist and are Running before
// the measurements. The nodes' addresses lead to a process of this program, the
// farm. It serves pods/exec to the API server like a kubelet, with a certificate
// that the cluster has signed. It connects each stream to the socket of a real `agent
// worker`, which is PID 1 of its own namespaces. In a container, `agent attach` does that;
// here there is neither agent attach nor a container runtime. The launcher is bin/agent, with a token
// that has the rights of the Role in test/e2e/manifests/pi.yaml.
//
// # Scale
//
// Each round launches 100, 300, 1,000 and again 100 workers in turn. An uncounted launch of the most workers
// comes first. `agent run` starts a program that prints a line and waits. Times are
// from the launcher's start, with all pods running: rendezvous and handshake with all workers,
// then the arrival of the last first line on the launcher's standard output. The job is then held,
// in the first round for a minute, while launcher and API server are measured. Then all
// programs end at the same time: they wait for the end of a FIFO. The launcher must end
// with 0, and each worker by itself and with 0. Each stream must have been opened once, and
// the API server must not have answered with an error. Its audit log counts requests,
// including streams and watches.
//
// # Output
//
// 1,000 ranks write 10 lines a second each, with the time in them. The figure is the maximum delay
// until the reader of the launcher's standard output gets a line. All lines must
// arrive once, and in order. A thousand workers that wake up ten times a second are too much for
// a machine with two processors, and in a cluster they run on other machines. So
// the farm simulates the workers itself here: it speaks their protocol with their flow control.
// One more run has real workers, for comparison.
//
// Everything that was created is deleted at the end, also after an error.
package main
