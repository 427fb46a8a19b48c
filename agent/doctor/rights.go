package doctor

import (
	"context"
	"strings"
	"sync"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/agent/jobs"
)

// usersRights returns what a user of agent submit, list, get, logs, attach and stacks needs, and,
// as spare ones, what delete, prune and scale need. docs/guides/submit.md has the same list.
func usersRights() []check.Right {
	group := v1alpha1.Version().Group
	return []check.Right{
		{Group: group, Resource: plural, Verb: "create"},
		{Group: group, Resource: plural, Verb: "get"},
		{Group: group, Resource: plural, Verb: "list"},
		{Group: group, Resource: plural, Verb: "delete", Spare: true},
		{Group: group, Resource: plural + "/scale", Verb: "patch", Spare: true},
		{Resource: "pods", Verb: "get"},
		{Resource: "pods", Verb: "list"},
		{Resource: "pods/log", Verb: "get"},
		{Resource: "pods/exec", Verb: "create"},
		{Resource: "pods/exec", Verb: "get"},
	}
}

// launchersRights returns what a launcher needs: to find its workers, by name if names lists them,
// and to start the agent in each of workers. docs/operations/security.md explains each. The right to
// list events is optional, so it is not among them.
func launchersRights(byName bool, workers []string) (all []check.Right) {
	if !byName {
		all = append(all, check.Right{Resource: "pods", Verb: "list"}, check.Right{Resource: "pods", Verb: "watch"})
	}
	for _, w := range workers {
		if byName {
			all = append(all, check.Right{Resource: "pods", Verb: "get", Name: w})
		}
		all = append(all, check.Right{Resource: "pods/exec", Verb: "create", Name: w}, check.Right{Resource: "pods/exec", Verb: "get", Name: w})
	}
	return all
}

// rights checks the user's rights in the namespace.
func (d *doctor) rights(ctx context.Context) []check.Finding {
	return check.OfRights(check.Subject{User: d.user, Namespace: d.api.Namespace}, d.review(ctx, usersRights()))
}

// mostWorkers bounds the workers whose rights a launcher asks for: a Role names all or none of them.
const mostWorkers = 8

// Launcher checks the rights of a launcher in its pod. workers are the names of workers' pods, and
// byName says that it finds them by these names.
func Launcher(ctx context.Context, api *jobs.API, byName bool, workers []string) []check.Finding {
	d := newDoctor(api)
	server, _ := d.server(ctx)
	if server.Error != "" {
		return check.OfServer(server)
	}
	rights := d.review(ctx, launchersRights(byName, workers[:min(len(workers), mostWorkers)]))
	return check.OfRights(check.Subject{User: d.user, Namespace: api.Namespace, Launcher: true}, rights)
}

// reviewsAtOnce bounds the questions that the API server gets at once.
const reviewsAtOnce = 8

// review asks the API server for each right, whether the user has it.
func (d *doctor) review(ctx context.Context, rights []check.Right) []check.Right {
	var asking sync.WaitGroup
	places := make(chan struct{}, reviewsAtOnce)
	for i := range rights {
		places <- struct{}{}
		asking.Go(func() {
			defer func() { <-places }()
			d.reviewOne(ctx, &rights[i])
		})
	}
	asking.Wait()
	return rights
}

func (d *doctor) reviewOne(ctx context.Context, r *check.Right) {
	resource, sub, _ := strings.Cut(r.Resource, "/")
	attributes := map[string]string{"namespace": d.api.Namespace, "verb": r.Verb, "group": r.Group, "resource": resource, "subresource": sub, "name": r.Name}
	const version = "authorization.k8s.io/v1"
	var answer struct {
		Status struct {
			Allowed         bool   `json:"allowed"`
			EvaluationError string `json:"evaluationError"`
		} `json:"status"`
	}
	err := d.api.Review(ctx, "/apis/"+version+"/selfsubjectaccessreviews", review(version, "SelfSubjectAccessReview", map[string]any{"resourceAttributes": attributes}), &answer)
	r.Allowed = answer.Status.Allowed
	switch {
	case err != nil:
		r.Error = plain(err)
	case !r.Allowed:
		r.Error = answer.Status.EvaluationError
	}
}
