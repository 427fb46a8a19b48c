// Package care has the programs that write a checkpoint when they are told to end, and what
// starts their ranks. test/fake plays them on fake workers, test/e2e in pods.
//
// A program works in its current directory, where it leaves a file for each thing that
// happens to rank N: up.N (it can be stopped), saved.N (the checkpoint), failed.N (a helper of
// its was gone before the checkpoint) and asked.N (a data loader got a signal). The checkpoint
// takes $CARE_SECONDS, 2 if that is not set, and $CARE_APART more for each rank before it.
package care
