// Command agent-launcher is the launcher's side of Muster. Users type `agent`:
// that small binary hands every verb it does not know to this one beside it.
package main

import (
	"context"
	"os"
)

func main() {
	limitGarbage(0) // nobody has said yet how many workers there are
	os.Exit(run(context.Background(), os.Args[1:], standard()))
}
