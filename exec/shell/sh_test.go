package shell

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pieces holds the words of the generator: pieces of shell, some of which sh or our shell rejects.
var pieces = []string{
	"a", "b-c", "/x/y", "1", "=", "A=", "A=1", "B=$A", ":", ".", ",", "%", "^", "@", "+", "-", "]", "}", "{", "!",
	"$A", "${B}", "$SP", "$EMPTY", "$NONE", "$", "\\", `\"`, `\'`, `\$`, `\\`, `\ `, `\a`, "#", "~",
	"'", `"`, "'q r'", `"q r"`, `"$A"`, `"$SP"`, `"\$A"`, `"\a"`, `"$EMPTY"`, `'$A'`, `""`, "''", `"a'b"`, `'a"b'`,
	" ", " ", " ", "  ", "\t", "\n", ";", " ; ", "*", "[", "|", "&", ">", "<", "(", ")", "`",
	"export A", "export NEW=", "export B=x$A", "A=x ", "C=$SP ", "cd /", "> /dev/null 2>&1",
}

func randomLine(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(7) {
		b.WriteString(pieces[r.IntN(len(pieces))])
		if r.IntN(3) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// TestAgreesWithSh checks that sh gives every accepted line the same meaning. The command of a line
// is printf or env, so that sh itself prints the arguments or the environment.
func TestAgreesWithSh(t *testing.T) {
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	env := []string{"A=one", "B=", "SP= two  words ", "EMPTY=", "PATH=/usr/bin:/bin", "HOME=/"}

	for _, line := range []string{ // lines that failed in the past
		`export A=x B=x$A; env -0`, `export B=x$A A=x; env -0`, `A=x B=x$A; export A B; env -0`, `export A=x A; env -0`, `export NEW A=x NEW=y$A NEW; env -0`,
	} {
		require.True(t, agrees(t, sh, env, line))
	}
	ran := 0
	for range 20_000 {
		prefix := ""
		if r.IntN(2) == 0 {
			prefix = randomLine(r) + ";"
		}
		line := prefix + `printf '%s\0' . ` + randomLine(r)
		if r.IntN(2) == 0 {
			line = prefix + "A=" + randomLine(r) + " env -0"
		}
		if agrees(t, sh, env, line) {
			ran++
		}
		if ran == 600 {
			break
		}
	}
	require.GreaterOrEqual(t, ran, 300, "the generator must make enough lines that run")
}

// agrees compares an accepted line with the result of sh. It returns false if the line is rejected
// or prints nothing.
func agrees(t *testing.T, sh string, env []string, line string) bool {
	t.Helper()
	p, err := Parse(line)
	if err != nil {
		return false
	}
	c, err := p.Command(env, "/")
	if err != nil || len(c.Argv) == 0 || c.Argv[0] != "printf" && (c.Argv[0] != "env" || len(c.Argv) != 2) {
		return false
	}
	theirs := exec.Command(sh, "-c", line)
	theirs.Env, theirs.Dir = env, "/"
	want, err := theirs.Output()
	require.NoError(t, err, "sh rejects a line that we accept: %q", line)
	ours := exec.Command(c.Argv[0], c.Argv[1:]...)
	ours.Env, ours.Dir = append(append([]string{}, env...), c.Env...), "/"
	if c.Dir != "" {
		ours.Dir = c.Dir
	}
	got, err := ours.Output()
	require.NoError(t, err, "%q", line)
	require.ElementsMatch(t, view(want, c), view(got, c), "%q", line)
	return true
}

// view splits a listing at its NULs. It omits the variables that sh itself sets.
func view(out []byte, c Command) []string {
	list := strings.Split(string(out), "\x00")
	if c.Argv[0] == "printf" {
		// ElementsMatch ignores the order of words; a single string keeps it.
		return []string{strings.Join(list, "\x00")}
	}
	var kept []string
	for _, kv := range list {
		name, _, _ := strings.Cut(kv, "=")
		if name != "PWD" && name != "OLDPWD" && name != "SHLVL" && name != "_" {
			kept = append(kept, kv)
		}
	}
	return kept
}
