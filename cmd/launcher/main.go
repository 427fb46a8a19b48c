// Command agent-launcher is the launcher's side of Muster. Users type `agent`: that small binary
// passes every verb that it does not have to this one beside it.
package main

import (
	"context"
	"os"

	"github.com/musterhq/muster/exec/proc"
)

func main() {
	proc.LimitGarbage(0) // the number of workers is not known yet
	caller, args := calledAs(os.Args)
	os.Exit(run(context.Background(), args, standard(caller)))
}
