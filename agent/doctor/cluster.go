package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/agent/jobs"
)

// answersWithin is how long the API server has for its first answer.
const answersWithin = 10 * time.Second

// Checks of a cluster alone, and those of a job in it, without the first.
var (
	ofCluster = []string{"version", "crd", "controller", "rights", "quota", "pod-security"}
	ofJob     = []string{"exec", "image"}
)

// doctor has what several checks need.
type doctor struct {
	api    *jobs.API
	labels map[string]string // of the namespace
	hidden error             // why labels are not known
	user   string            // as the API server calls the user; "": not known
	// renewal is how long to wait for the next renewal of a lease.
	renewal time.Duration
}

func newDoctor(api *jobs.API) *doctor { return &doctor{api: api, renewal: renewal} }

// NoCluster returns the findings if no cluster was found at all. why says what was looked for, and
// hint what to do.
func NoCluster(why, hint string) []check.Finding {
	found := check.OfServer(check.Server{Error: "no cluster: " + why, Remedy: hint})
	return append(found, check.NotChecked("there is no cluster", ofCluster...)...)
}

// Cluster checks the cluster and namespace of api, and job in it unless that is "". It returns the
// job if it could be read. The error says that there is no such job; everything else is a finding.
func Cluster(ctx context.Context, api *jobs.API, job string) ([]check.Finding, *v1alpha1.LaunchJob, error) {
	d := newDoctor(api)
	names := ofCluster
	if job != "" {
		names = slices.Concat(ofCluster, ofJob)
	}
	server, version := d.server(ctx)
	found := check.OfServer(server)
	if server.Error != "" {
		return append(found, check.NotChecked("the API server gave no answer", names...)...), nil, nil
	}
	found = append(found, check.OfVersion(version)...)
	if server.Absent {
		return append(found, check.NotChecked("namespace "+server.Namespace+" does not exist", names[1:]...)...), nil, nil
	}
	found = append(found, d.rights(ctx)...)
	crd, err := d.crd(ctx)
	if err != nil {
		found = append(found, check.NotChecked(plain(err), "crd")...)
	} else {
		found = append(found, check.OfCRD(crd)...)
	}
	if err == nil && !crd.HasKind {
		names := []string{"controller"}
		if job != "" {
			names = slices.Concat(names, ofJob)
		}
		found = append(found, check.NotChecked("the cluster serves no LaunchJobs", names...)...)
		return append(found, d.withoutJob(ctx)...), nil, nil
	}
	var subject *v1alpha1.LaunchJob
	if job != "" {
		subject, err = api.Job(ctx, job)
		if answer := apierrors.APIStatus(nil); errors.As(err, &answer) && apierrors.IsNotFound(err) {
			return nil, nil, err
		}
		if err != nil {
			found, subject = append(found, check.NotChecked(plain(err), ofJob...)...), nil
		}
	}
	found = append(found, check.OfController(d.controller(ctx, subject))...)
	if subject == nil {
		return append(found, d.withoutJob(ctx)...), nil, nil
	}
	return append(found, d.job(ctx, subject)...), subject, nil
}

// server finds out whether the API server answers, knows the user, and has the namespace. It returns
// the version of the API server too.
func (d *doctor) server(ctx context.Context) (check.Server, string) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	s := check.Server{Host: d.api.Host(), Namespace: d.api.Namespace}
	var version struct {
		GitVersion string `json:"gitVersion"`
	}
	err := d.api.Read(ctx, "/version", nil, &version)
	if err == nil {
		var who struct {
			Status struct {
				UserInfo struct {
					Username string `json:"username"`
				} `json:"userInfo"`
			} `json:"status"`
		}
		err = d.api.Review(ctx, "/apis/authentication.k8s.io/v1/selfsubjectreviews", review("authentication.k8s.io/v1", "SelfSubjectReview", nil), &who)
		d.user = who.Status.UserInfo.Username
		if !apierrors.IsUnauthorized(err) {
			err = nil // Kubernetes before 1.28 has no such review
		}
	}
	switch answer := apierrors.APIStatus(nil); {
	case apierrors.IsUnauthorized(err):
		s.Error = fmt.Sprintf("%s does not accept the credentials: %s", s.Host, plain(err))
		s.Remedy = "the credentials are wrong or have expired: log in again; kubectl auth whoami tests them"
		return s, ""
	case errors.As(err, &answer):
		s.Error = fmt.Sprintf("%s answers with an error: %s", s.Host, plain(err))
		return s, ""
	case err != nil:
		s.Error = fmt.Sprintf("%s does not answer: %s", s.Host, plain(err))
		s.Remedy = "check whether the API server " + s.Host + " can be reached from here"
		return s, ""
	}
	var namespace struct{ Metadata metav1.ObjectMeta }
	err = d.api.Read(ctx, "/api/v1/namespaces/"+d.api.Namespace, nil, &namespace)
	d.labels, d.hidden = namespace.Metadata.Labels, err
	s.Absent = apierrors.IsNotFound(err)
	return s, version.GitVersion
}

// plural is the name of LaunchJobs in a URL path.
const plural = "launchjobs"

// crd reads which kinds of our group the API server serves.
func (d *doctor) crd(ctx context.Context) (check.CRD, error) {
	want := v1alpha1.Version()
	c := check.CRD{Name: plural + "." + want.Group, Want: want.Version}
	served, err := d.served(ctx, want.Group)
	if err != nil {
		return c, err
	}
	for version, kinds := range served {
		c.Served = append(c.Served, version)
		c.HasKind = c.HasKind || version == want.Version && kinds[v1alpha1.Kind]
	}
	return c, nil
}

// served returns the kinds in each version of a group of the API. It is empty if the API server does
// not have the group.
func (d *doctor) served(ctx context.Context, group string) (map[string]map[string]bool, error) {
	var versions metav1.APIGroup
	err := d.api.Read(ctx, "/apis/"+group, nil, &versions)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]bool{}
	for _, v := range versions.Versions {
		var list metav1.APIResourceList
		if err := d.api.Read(ctx, "/apis/"+v.GroupVersion, nil, &list); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		all[v.Version] = map[string]bool{}
		for _, r := range list.APIResources {
			all[v.Version][r.Kind] = true
		}
	}
	return all, nil
}

// withoutJob checks what a namespace shows without a job.
func (d *doctor) withoutJob(ctx context.Context) []check.Finding {
	return append(d.quotas(ctx, nil, ""), d.podSecurity(nil, false, "")...)
}

// review returns the body of a review.
func review(version, kind string, spec any) map[string]any {
	body := map[string]any{"apiVersion": version, "kind": kind}
	if spec != nil {
		body["spec"] = spec
	}
	return body
}

// plain returns the text of an error in one line.
func plain(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
