// Command thousand measures one launcher and as many workers as a large job has,
// against the API server of test/lab/cluster.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run bench/thousand                          all of it
//	test/lab/run bench/thousand -only scale              make bench-scale
//	test/lab/run bench/thousand -only output             make bench-output
//	test/lab/run bench/thousand -workers 2,20 -rounds 1 -hold 5s -seconds 3
//
// # Who plays what
//
// kwok plays nodes and pods (package test/lab/kwok), which are there and Running before
// anything is measured. The nodes' addresses lead to a process of this program, the
// farm: it serves pods/exec to the API server as a kubelet does, behind a certificate
// that the cluster has signed, and joins each stream to the socket of a real `agent
// worker`, PID 1 of its own namespaces. That is what `agent attach` does in a container;
// neither it nor a container runtime is there. The launcher is bin/agent, with a token
// that has the rights of the Role in test/e2e/manifests/pi.yaml.
//
// # Scale
//
// For 100, 300, 1,000 and again 100 workers in turn, after a launch of the most that is
// not counted: `agent run` of a program that says that it has begun, and waits. Counted
// from the launcher's start, since the pods are there: rendezvous and handshake with all,
// then the arrival of the last first line on the launcher's standard output. It is held,
// in the first round for a minute, while launcher and API server are looked at. Then all
// programs end in one instant: they wait for the end of a FIFO. The launcher must end
// with 0, each worker by itself and with 0, each stream must have been opened once, and
// no answer of the API server may have been an error. Its audit log counts requests,
// streams and watches among them.
//
// # Output
//
// 1,000 ranks write 10 lines a second each, with their time in them. What the reader of
// the launcher's standard output finds to be the latest is the figure. All lines must
// come once, and in order. A thousand workers that wake up ten times a second are more than
// a machine of two processors can do, and in a cluster they are on a thousand others: so
// the farm plays the workers itself here, speaking their protocol with their flow control.
// One more run has real workers, to be seen beside these.
//
// Whatever was made is taken away at the end, also after an error.
package main
