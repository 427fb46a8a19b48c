package shell

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLongLines checks that parsing a line takes memory, and so time, proportional to its length,
// for words of any kind.
func TestLongLines(t *testing.T) {
	const size = 256 << 10
	for name, unit := range map[string]string{
		"plain": "a", "escaped": `\a`, "alternating": `a'b'`, "variables": "$A", "braces": "${A}x", "lone dollars": "$ ",
		"words": "a ", "digits": "1", "assignments": "A=1;", "exports": "export A=1;", "changes": "cd / > /dev/null 2>&1;",
	} {
		for _, quote := range []string{"", `"`} {
			if quote != "" && strings.ContainsAny(unit, "'; ") {
				continue
			}
			t.Run(name+quote, func(t *testing.T) {
				line := "echo " + quote + strings.Repeat(unit, size/len(unit)) + quote
				if strings.HasSuffix(unit, ";") {
					line = strings.Repeat(unit, size/len(unit)) + "true"
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				p, err := Parse(line)
				require.NoError(t, err)
				_, err = p.Command([]string{"A=x"}, "/")
				require.NoError(t, err)
				runtime.ReadMemStats(&after)
				require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(500*size))
			})
		}
	}
}

// TestBounds checks that expansions that would grow without limit are rejected soon.
func TestBounds(t *testing.T) {
	doubling := "A0=xxxxxxxxxxxxxxxx;"
	for i := range 60 {
		doubling += strings.NewReplacer("N", string(rune('a'+i/26))+string(rune('a'+i%26)), "P", "A0").Replace("N=$P$P;P=$N;")
	}
	for name, line := range map[string]string{
		"long line": "echo " + strings.Repeat("a", maxLine), "doubling": doubling + "true",
		"words":   "A=" + strings.Repeat("x", 1<<16) + ";echo" + strings.Repeat(" $A", 1<<10),
		"exports": "A=" + strings.Repeat("x", 1<<16) + strings.Repeat(";export A", 1<<10),
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse(line)
			if err == nil {
				_, err = p.Command(nil, "/")
			}
			var refusal *Refusal
			require.ErrorAs(t, err, &refusal)
			require.Contains(t, refusal.Construct, " MiB")
		})
	}
}
