//go:build linux

package launch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// chosen returns the workers that an action replaces, by name, each with the reason that its last words
// give. There is no reason if the program may be at fault.
func (r *runner) chosen(a *attempt, action retry.Action, gone []string) map[string]string {
	all := map[string]string{}
	culprit, _ := a.origin()
	for _, w := range a.workers {
		unfit := slices.Contains(a.unfit, w.Name)
		ends := action == retry.RestartPods || action == retry.ReplaceWorker && (w.Name == culprit || unfit)
		switch {
		case !ends || slices.Contains(gone, w.Name):
		case unfit:
			all[w.Name] = names.WhyPreflight
		case w.Name == culprit && r.brokenDevice(a, culprit) != "":
			all[w.Name] = names.WhyDevice
		default:
			all[w.Name] = ""
		}
	}
	return all
}

// giveUp ends the workers that an action replaces, so that the owner of their pods makes others. It
// returns those that it has ended. gone are workers that are replaced anyway. Nothing of the attempt
// runs on the workers any more.
func (r *runner) giveUp(ctx, working context.Context, a *attempt, action retry.Action, gone []string) ([]string, error) {
	all := r.chosen(a, action, gone)
	if len(all) == 0 {
		return nil, nil
	}
	limit := r.cfg.AnswerTime()
	telling, stop := context.WithTimeoutCause(working, limit, fmt.Errorf("no answer within %s", limit))
	defer stop()
	var stay []string
	told := make(chan error, 1)
	r.wg.Go(func() {
		var err error
		stay, err = r.links.Replace(telling, all, clearGrace)
		told <- err
	})
	s := r.observer(slices.DeleteFunc(slices.Clone(a.workers), func(w rendezvous.Worker) bool { _, ends := all[w.Name]; return ends }))
	s.Group = true // the loss of a worker ends nothing here
	defer func() { r.shot = s.Seen() }()
	ended, err := s.Attend(ctx, told)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case !ended:
		r.hurry = true
		return nil, err
	case err != nil:
		return nil, failure.New(names.ExitDeadline, "--timeout sets how long to wait", "restart: %s", phrase.OneLine(err))
	}
	if len(stay) > 0 {
		r.warn([]string{fmt.Sprintf("not replacing %s: the agent there is too old", strings.Join(stay, ", "))})
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return slices.Contains(stay, name) }), nil
}
