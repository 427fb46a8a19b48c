// Package contract is the suite that every framework.Framework passes, both built-in frameworks and
// plugins in their own processes. It is for tests.
//
// [Test] asks for launches on 1, 2 and 3 workers with 1, 2 and 8 processes each, and requires that
//
//   - the same cluster gives an equal launch, and the cluster is not changed;
//   - [framework.Validate] accepts the launch: ranks from 0, each once, valid
//     names, a reason for each variable;
//   - the environment agrees with the processes about ranks: RANK, WORLD_SIZE,
//     LOCAL_RANK, LOCAL_WORLD_SIZE;
//   - every address in the environment, and every address that a process waits
//     for, belongs to the cluster;
//   - an error comes without a launch, and no workers is an error.
//
// It starts nothing, so it cannot tell whether a library reads these variables. For that, see
// test/lab/frameworks.
package contract
