package proc

import (
	"strings"

	"github.com/musterhq/muster/exec/names"
)

// Marked returns env with the mark of a session, by which reap.Tree finds the processes of that
// session. Each variable occurs once (LastOfEach).
func Marked(env []string, id string) []string {
	return LastOfEach(append(env, names.EnvSession+"="+id))
}

// LastOfEach keeps the last value of each variable (K=V), in the place of its first. Without it,
// getenv(3) would return the first value.
func LastOfEach(env []string) []string {
	at := make(map[string]int, len(env))
	kept := make([]string, 0, len(env))
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if i, twice := at[name]; twice {
			kept[i] = kv
			continue
		}
		at[name] = len(kept)
		kept = append(kept, kv)
	}
	return kept
}
