//go:build linux

package launch

import (
	"context"
	"os"
	"time"

	"github.com/musterhq/muster/agent/group/output"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
)

// versionTime bounds `mpirun --version`.
const versionTime = 10 * time.Second

// commandLine is the command in the launcher: the framework's where it has one,
// with its own option for tags where the user asks for them and it has one.
func (r *runner) commandLine(ctx context.Context, planned plan.Plan, env []string) ([]string, error) {
	argv := r.cfg.Command
	if len(planned.Argv) > 0 {
		argv = planned.Argv
	}
	mode, err := r.cfg.OutputMode()
	if err != nil || r.cfg.Output == "" || mode.Kind != output.Tag || !names.IsMPIRun(argv[0]) {
		return argv, err
	}
	text, err := r.askVersion(ctx, argv[0], env)
	if err != nil {
		return nil, err
	}
	option := console.TagOption(text)
	if option == nil {
		r.voice.Warn("--output=tag: the family of %s is not known by what `%s --version` says; its output is not tagged", argv[0], argv[0])
	}
	return append(append(append([]string(nil), argv[0]), option...), argv[1:]...), nil
}

// askVersion runs `COMMAND --version`.
func (r *runner) askVersion(ctx context.Context, name string, env []string) (string, error) {
	path, err := lookPath(name)
	if err != nil {
		return "", err
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer ours.Close()
	p, err := r.reaper.Start(reap.Spec{Path: path, Argv: []string{name, "--version"}, Env: env, Files: []*os.File{nil, theirs, theirs}, Setpgid: true})
	theirs.Close()
	if err != nil {
		return "", cannotRun(name, err)
	}
	_ = ours.SetReadDeadline(time.Now().Add(versionTime)) // a pipe has one
	text := make([]byte, 0, 4096)
	for len(text) < cap(text) {
		n, err := ours.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err != nil {
			break // its end, or the deadline: what came is what there is
		}
	}
	_ = p.SignalGroup(9) // os.ErrProcessDone, as a rule
	<-p.Done()
	return string(text), ctx.Err()
}
