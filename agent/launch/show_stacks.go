package launch

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/exec/rsh"
	"github.com/musterhq/muster/exec/rundir"
)

// Stacks is `agent stacks` beside a launcher: where the ranks with these numbers stand,
// or all of them.
func Stacks(w io.Writer, ranks []string) error {
	if i := slices.IndexFunc(ranks, func(one string) bool { n, err := strconv.Atoi(one); return err != nil || n < 0 }); i >= 0 {
		return failure.Usage("a rank is a number, as in agent stacks 3", "%q is no rank", ranks[i])
	}
	socket, err := rundir.Broker()
	if err != nil {
		return failure.Usage("call it beside agent run, as the same user; from anywhere else: agent stacks JOB", "no launcher runs here")
	}
	lines, err := rsh.Stacks(socket, ranks)
	if err != nil {
		return failure.Usage("call it beside agent run, as the same user", "ask the launcher: %w", err)
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, failure.Visible(line)); err != nil {
			return console.Unwritable(console.Called(console.StandardOutput, err))
		}
	}
	return nil
}
