// Package join measures how thousands of members meet without a launcher, on one machine:
//
//	make bench-join SIZES=1000,3000,10000
//
// Rank 0 is bin/agent with the whole of `agent join`. The other members are in a few processes. Each is
// a real [barrier.Member] with a connection of its own. They start no process, and
// report the end of a rank as soon as rank 0 tells them to start it. One of a hundred unpacks the table
// of all members; real ones do, each on its machine. So the figures are those of rank 0 and of the way
// to it, not of 10,000 machines.
//
// All members begin to connect at the same moment. The time ends when the last one is told to start its
// rank.
package join
