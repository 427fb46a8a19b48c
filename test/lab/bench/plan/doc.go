// Command plan simulates launches of sizes that no machine of ours can hold, with
// costs that were measured on one: make bench-plan, docs/operations/scale.md.
//
//	test/lab/run bench/plan                  the table "plan", 1,000 to 100,000 workers
//	test/lab/run bench/plan -seed 7          other luck
//	test/lab/run bench/plan -fanout 32       other trees
//
// # The model
//
// A launch is a chain of steps for each worker, and each step is work of so many
// seconds on a processor, or a delay of the network. Processors are stations: a number
// of cores and one queue, first come, first served. There is one for the launcher, one
// for each API server, one for each node; for the comparison with what was measured
// they are all one, as on the machine where it was measured.
//
//	link by exec     the gate's turn; caller: dial, TLS, SPDY; API server: authentication,
//	                 authorization, the stream to the kubelet; node: runtime's exec, the worker's
//	                 answer; back through the API server; caller: reads the answer
//	link by TCP      caller and worker: TLS with both certificates; three times the network's way
//	frame            whoever sends it, each API server and each relay on its way, whoever reads it
//	session          launcher: opens it; a frame down; node: starts the process; a frame up
//
// All workers run when the simulation begins; the launcher lists them in one answer, as
// it does today, and dials. Sessions are opened when every worker has been greeted, as
// mpirun does it, and the launch is over when the last one's first line has come.
//
// Work takes between half and one and a half of its cost, evenly, by a seed that is
// printed: the same seed gives the same table.
//
// # Costs
//
// costs.json has each with its unit, and how it is known: measured, with the command
// or the source, or assumed. Where a table of out/bench has it, that counts, and the
// program says so.
//
// # Files
//
// costs.go reads the costs. world.go has events, stations, gates, and what happens on them.
// launch.go has the designs and plays one. main.go makes the table and compares it with the
// table "scale".
package main
