// Package man makes manual pages from the output of --help, so that both are the same.
package man

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/exec/names"
)

// Write makes the pages of the programs in bin below dir: agent.1, and agent-VERB.1 for each verb. It returns their
// names.
func Write(ctx context.Context, bin, dir string, at time.Time) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	text, err := output(ctx, bin, "agent", "version", "-o", "json")
	if err != nil {
		return nil, err
	}
	var version struct{ Version string }
	if err := json.Unmarshal([]byte(text), &version); err != nil {
		return nil, fmt.Errorf("read version: %w", err)
	}
	about, err := verbs(ctx, bin)
	if err != nil {
		return nil, err
	}
	p := Page{Version: version.Version, At: at}
	for verb := range about {
		p.All = append(p.All, "agent-"+verb)
	}
	p.All = append(p.All, "agent")
	slices.Sort(p.All)
	for _, name := range p.All {
		p.Name, p.About = name, about[strings.TrimPrefix(name, "agent-")]
		if name == "agent" {
			p.About = "launch MPI and machine learning jobs on Kubernetes from inside the pods"
		}
		if p.Help, err = help(ctx, bin, strings.Fields(strings.TrimPrefix(strings.Replace(name, "-", " ", 1), "agent"))...); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(p.Roff()), 0o666); err != nil {
			return nil, err
		}
	}
	return p.All, nil
}

// verbs returns the verbs and their descriptions, from the shell completion. Verbs of the small binary have the
// description "".
func verbs(ctx context.Context, bin string) (map[string]string, error) {
	text, err := output(ctx, bin, "agent-launcher", "__complete", "")
	if err != nil {
		return nil, err
	}
	about := map[string]string{}
	for line := range strings.Lines(text) {
		verb, words, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if verb != "" && verb != "help" && !strings.HasPrefix(verb, ":") {
			about[verb] = words
		}
	}
	return about, nil
}

// help returns the full help of a verb, or of the program.
func help(ctx context.Context, bin string, verb ...string) (string, error) {
	switch {
	case len(verb) == 0:
		return output(ctx, bin, "agent-launcher", "--help")
	case slices.Contains(names.SmallVerbs(), verb[0]):
		return output(ctx, bin, "agent", verb[0], "--help")
	}
	return output(ctx, bin, "agent-launcher", verb[0], "--help-all")
}

func output(ctx context.Context, bin, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, program), args...)
	cmd.Env = []string{"HOME=/"} // no settings of this machine
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return string(out), nil
}
