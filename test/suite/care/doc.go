// Package care has programs that write a checkpoint when they are stopped, and the launchers of their ranks.
// test/fake runs them on fake workers, test/e2e in pods.
//
// A program works in its current directory. It creates a file for each event of rank N: up.N when it can be
// stopped, and saved.N when the checkpoint is written. It creates failed.N if a helper of the rank ended before the
// checkpoint, and asked.N if a data loader got a signal. The checkpoint takes $CARE_SECONDS, 2 by default, and
// $CARE_APART more for each lower rank.
package care
