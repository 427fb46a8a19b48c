//go:build linux

package launch

import (
	"context"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/musterhq/muster/agent/group/output"
	"github.com/musterhq/muster/agent/launch/command"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/metrics"
	"github.com/musterhq/muster/agent/notice"
	"github.com/musterhq/muster/exec/names"
)

// lookAtOutput detects lost output of a command that writes to our own descriptors. Either its disk
// is full, or nothing reads the pipe and the command died by a signal or with such a code. Open MPI
// 4 exits with 0 after the first, and crashes after the second.
func (r *runner) lookAtOutput(died bool) {
	if err := console.FullDisk(r.streams.Out); err != nil {
		r.outputLost(console.Called(console.PlaceName(console.StandardOutput, r.streams.Out), err))
	}
	if died && console.Unread(r.streams.Out) {
		r.outputLost(console.Called(console.StandardOutput, syscall.EPIPE))
	}
}

// teed calls begin with streams that pass through a tee. A stream passes through if something
// inspects it, or if the command's own writes would fail unnoticed. Progress rules also inspect
// standard error, because loggers and progress bars write there. So does w, if the streams are
// pipes, sockets or files. NCCL's lines are read if the stream passes through anyway, or if the run
// depends on them, and so are the first lines of ranks for the record of events. r.wg owns the copying, which continues until r.tees.Finish.
func (r *runner) teed(a *attempt, begin func(console.Streams) (*command.Command, error)) (cmd *command.Command, err error) {
	p, w, n, first := a.progress, a.words, a.network, r.record.Mixed(r.tags().Split)
	streams := r.streams
	var made console.Tees
	var ins []*os.File
	pass := func(name string, to **os.File, seen io.WriteCloser) error {
		place := *to
		t, in, err := console.NewTee(p.Timed(place), seen, func(err error) { r.outputLost(console.Called(console.PlaceName(name, place), err)) })
		if err == nil {
			t.Name, t.Brief = name, p == nil && (r.meter == nil || name == console.StandardError)
			made, ins, *to = append(made, t), append(ins, in), in
		}
		return err
	}
	heard := w.Hears(r.streams.Out)
	if heard || r.meter != nil || p != nil || n.Must() || console.IsOddDevice(r.streams.Out) {
		err = pass(console.StandardOutput, &streams.Out, console.Lookers{first.Reader(), r.meter.Mixed(), p.Mixed(r.tags()), n.Mixed(), w.Reader(heard)})
	}
	heard = w.Hears(r.streams.Err)
	switch {
	case err != nil:
	case heard && r.meter == nil && p == nil && console.IsOnePlace(r.streams.Out, r.streams.Err):
		streams.Err = streams.Out // one pipe keeps the order
	case heard || p != nil:
		err = pass(console.StandardError, &streams.Err, console.Lookers{first.Reader(), p.Mixed(r.tags()), w.Reader(heard)})
	}
	if err == nil {
		cmd, err = begin(streams)
	}
	for _, in := range ins {
		_ = in.Close() // closing a pipe cannot fail
	}
	r.tees = made
	for _, t := range made {
		if err != nil {
			_ = t.From.Close()
			continue
		}
		r.wg.Go(t.Copy)
	}
	if err != nil {
		r.tees = nil
	}
	return cmd, err
}

// tags returns the rank tags in the output of a command in the launcher.
func (r *runner) tags() metrics.Tags {
	if r.cfg.Output == "tag" && names.IsMPIRun(r.cfg.Command[0]) {
		return metrics.TagsAll // mpirun was asked to tag each line with its rank
	}
	return metrics.TagsSure
}

// commandLine returns the command to run in the launcher: the framework's if there is one, else the
// user's. With --output=tag it adds mpirun's own option for tags if mpirun has one.
func (r *runner) commandLine(ctx context.Context, planned plan.Plan, env []string) ([]string, error) {
	argv := r.cfg.Command
	if len(planned.Argv) > 0 {
		argv = planned.Argv
	}
	mode, err := r.cfg.OutputMode()
	if err != nil || r.cfg.Output == "" || mode.Kind != output.Tag || !names.IsMPIRun(argv[0]) {
		return argv, err
	}
	text, err := command.AskVersion(ctx, r.reaper, argv[0], env)
	if err != nil {
		return nil, err
	}
	option := console.TagOption(text)
	if option == nil {
		r.voice.Warn("--output=tag: the output of %s is not tagged: `%s --version` names no known MPI", argv[0], argv[0])
	}
	return append(append(append([]string(nil), argv[0]), option...), argv[1:]...), nil
}

// listen returns Words for a command whose end is judged by its mpiruns, or whose output a rule of
// --restart-policy asks about. It returns nil for other commands.
func (r *runner) listen() *console.Words {
	if r.rules.AsksOutput() {
		return &console.Words{All: true}
	}
	if !r.judgesWords() {
		return nil
	}
	return &console.Words{}
}

// judgesWords reports whether what mpiruns print may count in the verdict.
func (r *runner) judgesWords() bool {
	rule := r.cfg.Rule()
	return rule == verdict.ExitStrict || rule == verdict.ExitScript
}

// wordsOf adds to each end the worker of its host.
func wordsOf(ends []notice.End, hosts []plan.Host) (words []verdict.Word) {
	for _, end := range ends {
		word := verdict.Word{End: end}
		i := slices.IndexFunc(hosts, func(h plan.Host) bool {
			return end.Host != "" && slices.Contains([]string{h.Host, h.Name, h.IP}, end.Host)
		})
		if i >= 0 {
			word.Worker = hosts[i].Name
		}
		words = append(words, word)
	}
	return words
}
