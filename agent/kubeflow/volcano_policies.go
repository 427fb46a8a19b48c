package kubeflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// volcanoPolicies converts Volcano's actions on events to restarts and success.
func (c *conversion) volcanoPolicies(tasks []*task) {
	retry := c.spec.at("maxRetry")
	most := int32(3)
	if n := retry.count(); n != nil && *n > 0 {
		most = min(*n, mostRestarts)
	}
	var on []string
	for _, p := range c.spec.at("policies").list() {
		on = append(on, c.volcanoPolicy(p, nil)...)
	}
	var all []replica
	for _, t := range tasks {
		for _, p := range t.in.at("policies").list() {
			on = append(on, c.volcanoPolicy(p, t)...)
		}
		given := t.in.at("template").at("spec").at("restartPolicy")
		switch t.restart {
		case "OnFailure", "Always":
			on = append(on, "any")
			given.note("the kubelet restarted its containers without limit; here all members restart, up to maxRetry times")
		default:
			given.mention(true, "the pods of a LaunchJob have this policy in any case")
		}
		all = append(all, t.replica)
	}
	if len(on) == 0 {
		retry.mention(true, "no policy restarts anything")
		return
	}
	if slices.Sort(on); slices.Contains(on, "any") {
		on = []string{"any"}
	}
	if c.inPlace(all) {
		c.job.Spec.RestartPolicy = &v1alpha1.RestartPolicy{MaxRestarts: most, RestartOn: strings.Join(slices.Compact(on), ",")}
	} else {
		c.job.Spec.RunPolicy.BackoffLimit = most
	}
}

// volcanoPolicy reads one policy: after which ends the job restarts, or whose end is the job's. t
// is nil for the policies of the Job itself.
func (c *conversion) volcanoPolicy(p reader, t *task) (on []string) {
	action := p.at("action").text()
	events := []string{p.at("event").text()}
	for _, e := range p.at("events").list() {
		events = append(events, e.text())
	}
	again := strings.HasPrefix(action, "Restart")
	if again && action != "RestartJob" {
		p.at("action").note("all members restart together")
	}
	if code := p.at("exitCode").number(); code != nil {
		if again && *code > 0 && *code < 256 {
			on = append(on, fmt.Sprint(*code))
		} else if again {
			p.at("exitCode").warn("", "there is no such exit code: not carried")
		} else if action == "AbortJob" || action == "TerminateJob" {
			p.at("action").note("this exit code always fails the job")
		} else {
			p.warn("", "%s at exit code %d: not carried", action, *code)
		}
	} else if !p.at("event").has() && !p.at("events").has() {
		p.warn("set event or exitCode", "it has no condition: not carried")
	}
	for _, e := range events {
		switch {
		case e == "":
		case e == "PodEvicted" && again:
			p.at("event").mention(true, "an evicted pod is replaced in any case")
		case again && (e == "PodFailed" || e == "TaskFailed" || e == "Unknown" || e == "*"):
			on = append(on, "any")
		case e == "TaskCompleted" && action == "CompleteJob" && t != nil && c.job.Spec.Launcher == nil:
			c.job.Spec.Success = t.role
		case e == "TaskCompleted" && action == "CompleteJob" && t != nil && t.role == "launcher":
			p.at("event").mention(true, "the end of the launcher is the end of the job")
		case (e == "PodFailed" || e == "TaskFailed") && (action == "AbortJob" || action == "TerminateJob"):
			p.at("event").mention(true, "a failure ends the job in any case")
		default:
			p.warn("", "%s at %s: not carried", cmp.Or(action, "nothing"), e)
		}
	}
	return on
}
