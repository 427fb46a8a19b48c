// Package contract is the suite that every framework.Framework passes: those
// that are built in, and plugins in their own processes. It is for tests.
//
// [Test] asks for launches of 1, 2 and 3 workers with 1, 2 and 8 processes each,
// and wants that
//
//   - the same cluster gives an equal launch, and the cluster is not changed;
//   - the launch is one that [framework.Validate] accepts: ranks from 0, each
//     once, names that can be set, a reason for each variable;
//   - what the environment says of ranks agrees with the processes: RANK,
//     WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE;
//   - every address in it is one of the cluster, and what a process waits for is
//     too;
//   - an error comes without a launch, and no workers is an error.
//
// It does not start anything, so it cannot tell whether a library reads these
// variables: test/lab/frameworks does.
package contract
