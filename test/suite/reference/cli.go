package reference

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/exec/names"
)

// CLI returns the help of each verb of the agent in the directory bin, and the help of the controller, with every
// flag.
func CLI(ctx context.Context, bin string) (string, error) {
	agent := filepath.Join(bin, "agent")
	list, err := exec.CommandContext(ctx, agent, "__complete", "").Output()
	if err != nil {
		return "", fmt.Errorf("list the verbs of %s: %w", agent, err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(list)) {
		verb, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if strings.HasPrefix(verb, ":") { // the end of the list
			break
		}
		if verb == "help" {
			continue
		}
		help := "--help-all"
		if slices.Contains(names.SmallVerbs(), verb) {
			help = "--help" // it has every flag
		}
		if err := printed(ctx, &b, "agent "+verb, agent, verb, help); err != nil {
			return "", err
		}
	}
	if err := printed(ctx, &b, "controller", filepath.Join(bin, "controller"), "--help"); err != nil {
		return "", err
	}
	return b.String(), nil
}

// printed adds the output of a program below a heading.
func printed(ctx context.Context, b *strings.Builder, heading, program string, args ...string) error {
	text, err := exec.CommandContext(ctx, program, args...).Output()
	if err != nil {
		return fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	if len(text) == 0 {
		return fmt.Errorf("%s %s prints nothing", program, strings.Join(args, " "))
	}
	fmt.Fprintf(b, "## %s\n\n```text\n%s\n```\n\n", heading, strings.TrimRight(string(text), "\n"))
	return nil
}
