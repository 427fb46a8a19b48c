package kubeflow

import (
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// mostRestarts is what a LaunchJob bounds them by; the operators have no bound
// where no backoffLimit is given.
const mostRestarts = 1000

// mostAnew is how often a job is begun again with new pods where nothing else is
// said: what Kubernetes' own Jobs do.
const mostAnew = 6

// restarts turns the policies of the replica types into the one that a LaunchJob
// has: its members begin again together. limit is the backoffLimit, otherwise
// what counts where there is none.
func (c *conversion) restarts(all []replica, limit reader, otherwise int32) {
	chosen := strongest(all)
	for _, r := range all {
		given := r.in.at("restartPolicy")
		switch {
		case given.has() && r.restart != chosen && !(r.restart == "Always" && chosen == "OnFailure"):
			given.warn("", "a LaunchJob has one policy for all its pods: %s is taken, and %s had %s", chosen, r.role, r.restart)
		case r.restart == "Always":
			given.warn("", "a container that ends well is not started again: taken as OnFailure")
		}
	}
	n := limit.count()
	if chosen == "Never" {
		if n != nil {
			limit.note("nothing is restarted under restartPolicy Never")
		}
		return
	}
	most := otherwise
	if n != nil {
		most = *n
	}
	if most > mostRestarts {
		limit.warn("", "%d is more than a LaunchJob takes: %d", most, mostRestarts)
		most = mostRestarts
	}
	if most == 0 {
		return
	}
	on := "any"
	if chosen == "ExitCode" {
		on = retryable()
		c.exitCodes(all)
	}
	if !c.inPlace(all) {
		if n == nil {
			most = mostAnew
		}
		c.job.Spec.RunPolicy.BackoffLimit = most
		return
	}
	c.job.Spec.RestartPolicy = &v1alpha1.RestartPolicy{MaxRestarts: most, RestartOn: on}
}

// strongest is the policy that restarts most.
func strongest(all []replica) string {
	chosen := "Never"
	for _, r := range all {
		switch r.restart {
		case "OnFailure", "Always":
			return "OnFailure"
		case "ExitCode":
			chosen = "ExitCode"
		}
	}
	return chosen
}

// retryable are the operator's retryable ends, codes from 128, as far as programs
// have them: signals, and 255.
func retryable() string {
	var words []string
	for code := 128; code < 160; code++ {
		words = append(words, strconv.Itoa(code))
	}
	return strings.Join(append(words, "255", "lost", "infra", "oom"), ",")
}

func (c *conversion) exitCodes(all []replica) {
	for _, r := range all {
		if given := r.in.at("restartPolicy"); r.restart == "ExitCode" {
			given.note("restarted after the exit codes 128 to 159 and 255, a lost pod and memory that ran out; codes from 160 to 254 are no signal's, and fail")
		}
	}
}

// inPlace: the agent is put before every command, and can start it again. Where
// the image alone knows the command, the job is begun again with new pods.
func (c *conversion) inPlace(all []replica) bool {
	if c.commands(all) {
		return true
	}
	o, i := own(&all[0].template, all[0].container)
	container(all[0].in.at("template"), i).warn("write the image's command into the template",
		"container %s has no command: it gets its environment, no agent is put before it, and a failure begins the job again with new pods, whatever its exit code", o.Name)
	return false
}

// commands: every pod's own container has one, or the agent is its entrypoint.
func (c *conversion) commands(all []replica) bool {
	if c.baked() || c.job.Spec.Launcher != nil {
		return true
	}
	for _, r := range all {
		if o, _ := own(&r.template, r.container); len(o.Command) == 0 {
			return false
		}
	}
	return true
}
