// Command plan simulates launches of sizes that exceed our machines, with
// costs that were measured on one machine: make bench-plan, docs/operations/scale.md.
//
//	test/lab/run bench/plan                  the table "plan", 1,000 to 100,000 workers
//	test/lab/run bench/plan -seed 7          another random variation of the costs
//	test/lab/run bench/plan -fanout 32       other trees
//
// # The model
//
// A launch is a chain of steps for each worker. Each step is work of some
// seconds on a processor, or a delay of the network. Processors are stations: a number
// of cores and one queue, first come, first served. There is one station for the launcher, one
// for each API server, and one for each node. For the comparison with measurements
// all are one station, like the machine of the measurements.
//
//	link by exec     wait at the gate; caller: dial, TLS, SPDY; API server: authentication,
//	                 authorization, the stream to the kubelet; node: runtime's exec, the worker's
//	                 answer; back through the API server; caller: reads the answer
//	link by TCP      caller and worker: TLS with both certificates; three one-way delays of the network
//	sealed link      launcher: proves itself; a frame down through the relays; worker: checks it and
//	                 answers; a frame up; launcher: reads the answer
//	frame            the sender, each API server and each relay on the way, and the receiver
//	session          launcher: opens it; a frame down; node: starts the process; a frame up
//
// All workers run when the simulation starts. The launcher lists them in one answer, as
// Muster does today, and dials. It opens the sessions when every worker has answered the handshake, as
// with mpirun, and the launch is over when the last worker's first line arrives.
//
// Each step's work is multiplied by a random factor between 0.5 and 1.5, uniformly distributed. The seed is
// printed, and the same seed yields the same table.
//
// # Costs
//
// costs.json has each cost with its unit and its source: measured, with the command
// or the circumstances, or assumed. If a table of out/bench has the cost, that value is used instead, and the
// program prints where it is from.
//
// # Files
//
// costs.go reads the costs. world.go has events, stations and gates, and the steps that run on them.
// launch.go has the designs and simulates one. main.go makes the table and compares it with the
// tables "scale" and "network".
package main
