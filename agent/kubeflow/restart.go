package kubeflow

import (
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// mostRestarts is the maximum number of restarts of a LaunchJob. The operators have no maximum
// unless backoffLimit is given.
const mostRestarts = 1000

// mostAnew is the default number of times a job is restarted with new pods, as in Kubernetes' own
// Jobs.
const mostAnew = 6

// restarts converts the restart policies of the replica types into the single one of a LaunchJob,
// whose members restart together. limit is the backoffLimit, and otherwise is its default.
func (c *conversion) restarts(all []replica, limit reader, otherwise int32) {
	chosen := strongest(all)
	for _, r := range all {
		given := r.in.at("restartPolicy")
		switch {
		case given.has() && r.restart != chosen && !(r.restart == "Always" && chosen == "OnFailure"):
			given.warn("", "a LaunchJob has one policy for all its pods: %s is used, but %s had %s", chosen, r.role, r.restart)
		case r.restart == "Always":
			given.warn("", "a container that succeeds is not restarted: converted to OnFailure")
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
		limit.warn("", "%d is more than the limit of a LaunchJob: %d", most, mostRestarts)
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

// strongest returns the policy that restarts most.
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

// retryable lists the exit codes that the operator retries. These are the codes from 128, reduced
// to those that programs can have: signals and 255.
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
			given.note("restarted after the exit codes 128 to 159 and 255, a lost pod and memory that ran out; codes from 160 to 254 are not from signals, and fail the job")
		}
	}
}

// inPlace reports whether the agent wraps every command, and so can restart it. If only the
// image knows the command, the job is restarted with new pods.
func (c *conversion) inPlace(all []replica) bool {
	if c.commands(all) {
		return true
	}
	o, i := own(&all[0].template, all[0].container)
	container(all[0].in.at("template"), i).warn("write the image's command into the template",
		"container %s has no command: it gets its environment but no agent, and any failure restarts the job with new pods", o.Name)
	return false
}

// commands reports whether the own container of every pod has a command, or has the agent as its
// entrypoint.
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
