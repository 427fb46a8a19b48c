// Command agent-launcher is the launcher's side of Muster. Users type `agent`:
// that small binary hands every verb it does not know to this one beside it.
package main

import (
	"context"
	"os"
	"runtime/debug"
)

func main() {
	// The live heap is a few megabytes, so that the default would collect many
	// times a second while output flows.
	debug.SetGCPercent(400)
	os.Exit(run(context.Background(), os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
