package reference

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/agent/check"
)

// Checks lists the checks of one kind, such as check.OfWorker.
func Checks(of string) (string, error) {
	var b strings.Builder
	b.WriteString("| check | what must hold | needs | way out |\n|---|---|---|---|\n")
	found := 0
	for _, c := range check.Table() {
		if c.Of != of {
			continue
		}
		if c.About == "" || c.Needs == "" || c.Remedy == "" {
			return "", fmt.Errorf("check %s has no sentence, no need or no way out", c.Name)
		}
		found++
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Name, cell(c.About), cell(c.Needs), cell(c.Remedy))
	}
	if found == 0 {
		return "", fmt.Errorf("no check is of %s", of)
	}
	return b.String(), nil
}
