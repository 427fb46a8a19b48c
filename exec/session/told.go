//go:build linux

package session

import (
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/exec/wire"
)

// mostTold limits the environment in a WELCOME, in bytes of JSON.
const mostTold = wire.MaxRecord / 4

// told returns the variables that a launcher asks for, as sessions start with them. It omits values
// that are not UTF-8, which JSON would change, and values that do not fit.
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
		cost := 6*(len(name)+len(v)) + len(`"":"",`) // JSON may escape a byte as six
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
