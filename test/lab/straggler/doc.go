// Command straggler plays runs of `agent run --fake` with 20 ranks that print their steps, and counts
// which ranks the launcher names. Each step of a rank takes 100 ms, with noise of 10 % up and down.
//
//	test/lab/run straggler                    50 runs without a straggler, and 5 with one: 9 minutes
//	test/lab/run straggler -without 5 -with 1 -seed 7
//
// In a run with a straggler, one rank is 30 % slower. It must be named, and no other rank. In a run
// without one, no rank may be named. The machine may be busy: the ranks share its processors.
//
// -bin is the directory of agent and agent-launcher (default: bin of the repository). Figures go to
// $MUSTER_OUT, and the command fails if one misses its bar.
package main
