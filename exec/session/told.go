//go:build linux

package session

import (
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/exec/wire"
)

// mostTold bounds what a WELCOME tells of the environment, in bytes of JSON.
const mostTold = wire.MaxRecord / 4

// told gives the variables that a launcher asks for, as sessions start with
// them. A value that is not UTF-8, which JSON would change, and what finds no
// room is left out.
func told(env, ask []string) map[string]string {
	value := make(map[string]string, len(env))
	for _, kv := range env {
		if name, v, ok := strings.Cut(kv, "="); ok {
			value[name] = v
		}
	}
	answer := map[string]string{}
	room := mostTold
	for _, name := range ask {
		v, there := value[name]
		cost := 6*(len(name)+len(v)) + len(`"":"",`) // JSON may escape a character by six
		if !there || cost > room || !utf8.ValidString(name) || !utf8.ValidString(v) {
			continue
		}
		if _, again := answer[name]; !again {
			answer[name] = v
			room -= cost
		}
	}
	return answer
}
