//go:build linux

package pid1

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// bridged dials through `agent attach`, as pods/exec does.
type bridged struct {
	dir    string
	attach func(*exec.Cmd)
}

type bridge struct {
	io.Reader
	io.WriteCloser
	cmd *exec.Cmd
}

func (b bridge) Close() error {
	_ = b.cmd.Process.Kill() // a bridge holds no state
	_ = b.WriteCloser.Close()
	_ = b.cmd.Wait()
	return nil
}

func (d bridged) Dial(context.Context) (io.ReadWriteCloser, error) {
	cmd := exec.Command(agent, "attach")
	cmd.Env = []string{names.EnvDir + "=" + d.dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner, Gid: owner}}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d.attach(cmd)
	return bridge{out, in, cmd}, nil
}

// TestSecretsStayOut lets everything happen to sessions whose environment, words
// and input have secrets, with the most talkative log there is: none of them
// stands in the log, the last words, or the bridge's words.
func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	secret := func(i int) string { return fmt.Sprintf("hunter%d-%s", i, wire.NewID()) }
	container, env, arg, input, dir := secret(1), secret(2), secret(3), secret(4), secret(5)
	w, last := startRestricted(t, owner, []string{"REGISTRY_PASSWORD=" + container}, "-v", "--grace", "1s")
	w.up(t)
	var bridges []int
	l := contract.NewLink(t, bridged{dir: filepath.Dir(w.socket), attach: func(c *exec.Cmd) { bridges = append(bridges, c.Process.Pid) }},
		func(c *link.Config) { c.PingEvery = 50 * time.Millisecond })
	vars := []string{"AWS_SECRET_ACCESS_KEY=" + env, "API_TOKEN=" + env, "MY_PASSWORD=" + env}
	for _, spec := range []wire.Spec{
		{Argv: []string{"/bin/sh", "-c", "exit 3", "--password=" + arg}, Env: vars},
		{Argv: []string{"no-such-program", "--token", arg}, Env: vars},
		{Argv: []string{"/bin/true"}, Env: vars, Dir: "/no/such/directory"},
		{Line: "TOKEN=" + arg + "; exit 4", Env: vars},
		{Argv: []string{"/bin/true", "a\x00" + arg}, Env: vars},
	} {
		require.NotZero(t, open(t, l, spec).record(t).Code+len(spec.Dir))
	}
	s := open(t, l, wire.Spec{Line: `read x; echo "$x $API_TOKEN $REGISTRY_PASSWORD"; exec sleep 1007`, Env: vars})
	_, err := fmt.Fprintln(s.open, input)
	require.NoError(t, err)
	s.says(t, fmt.Sprintln(input, env, container))
	_, err = l.Open(t.Context(), s.ID(), wire.Spec{Argv: []string{"other", arg}, Env: vars}, link.Streams{})
	require.NoError(t, err, "it is refused by the worker")
	s.Signal(28)

	require.Len(t, bridges, 1)
	words, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", bridges[0]))
	require.NoError(t, err)
	require.Equal(t, agent+"\x00attach\x00", string(words), "the bridge's words never change")
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", bridges[0]))
	require.NoError(t, err)
	s.Stop(time.Second)
	require.Equal(t, 143, s.record(t).Code)
	s = open(t, l, wire.Spec{Line: "cd /; exec sleep 1008", Env: append(vars, "DIR="+dir)})
	waitFor(t, "it runs", func() bool { return strings.Contains(strings.Join(commands(t, w.pid), "\n"), "sleep 1008") })
	s.Signal(15)
	require.Equal(t, 143, s.record(t).Code)
	open(t, l, wire.Spec{Line: "trap '' TERM; echo ready; while :; do sleep 1; done", Env: vars}).says(t, "ready\n")
	require.NoError(t, l.End(bounded(t), false, time.Second))
	require.Zero(t, w.end(t))
	final, err := os.ReadFile(last)
	require.NoError(t, err)
	require.NotEmpty(t, final)
	require.Contains(t, w.out.String(), "level=DEBUG")
	for _, word := range []string{container, env, arg, input, dir} {
		for where, text := range map[string]string{"log": w.out.String(), "termination message": string(final), "bridge": string(words) + string(environ)} {
			require.NotContains(t, text, word, where)
		}
	}
}
