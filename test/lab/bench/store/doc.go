// Command store measures what comes after a PyTorch job's first line: the TCPStore that all its ranks
// connect to, and the first collective.
//
//	make bench-store                                     PyPI; installs PyTorch
//	test/lab/run bench/store -clients 1000,3000,10000 -ranks 2,8
//
// # The store
//
// Clients of one TCPStore do what ranks do before their first NCCL collective: connect, count
// themselves, wait for all others, and get the first rank's id of 128 bytes. They are threads of a few
// processes, because two cores do not carry 10,000 interpreters. The store is a process of its own. Its
// backend is the one that PyTorch had before 2.4, or libuv, the default since. The clients come all at
// once, as after a barrier, or spread over the seconds that a launch takes.
//
// # The first collective
//
// agent run --fake starts ranks of one script. Each imports PyTorch, joins a process group of gloo, and
// sums one number over all ranks. The table has the arrival of the last rank's line about each step,
// since the launcher's start. Each rank is an interpreter with PyTorch of its own, so that this part
// shows few ranks.
package main
