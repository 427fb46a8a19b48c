package launch

import (
	"strings"

	"github.com/musterhq/muster/agent/framework"
)

// ranksOnce holds what framework.StartsRanksOnce has said of each command. It reads scripts, and
// thousands of processes share a command.
type ranksOnce struct {
	read func(path string) string
	said map[string]bool
}

func (o ranksOnce) of(argv []string) bool {
	key := strings.Join(argv, "\x00")
	said, known := o.said[key]
	if !known {
		said = framework.StartsRanksOnce(argv, o.read)
		o.said[key] = said
	}
	return said
}
