package fakekube

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// About is what an API server says about itself, its namespaces and its users: version, groups of the API,
// reviews of rights, and objects that tests put at a path. Its methods are safe for concurrent use.
type About struct {
	mu      sync.Mutex
	version string
	user    string
	denied  func(Question) bool
	served  map[string]map[string][]string // group, version, kinds
	objects map[string]any                 // by path
}

// Question is what a SelfSubjectAccessReview asks.
type Question struct {
	Namespace, Verb, Group, Resource, Subresource, Name string
}

// About registers the handlers. At first the user jane may do everything, and no group is served. Call it before the
// first request.
func (s *Server) About() *About {
	a := &About{version: "v1.34.1", user: "jane", served: map[string]map[string][]string{}, objects: map[string]any{}}
	s.Handle("GET /version", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		a.answer(w, func() any { return map[string]string{"gitVersion": a.version} })
	}))
	s.Handle("POST /apis/authentication.k8s.io/v1/selfsubjectreviews", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		a.answer(w, func() any {
			return map[string]any{"status": map[string]any{"userInfo": map[string]any{"username": a.user}}}
		})
	}))
	s.Handle("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", http.HandlerFunc(a.review))
	s.Handle("GET /apis/{group}", http.HandlerFunc(a.group))
	s.Handle("GET /apis/{group}/{version}", http.HandlerFunc(a.kinds))
	for _, pattern := range []string{
		"GET /api/v1/namespaces/{ns}", "GET /api/v1/namespaces/{ns}/resourcequotas", "GET /apis/coordination.k8s.io/v1/leases",
		"GET /apis/coordination.k8s.io/v1/namespaces/{ns}/leases/{name}", "GET /apis/apps/v1/namespaces/{ns}/deployments/{name}",
	} {
		s.Handle(pattern, http.HandlerFunc(a.object))
	}
	return a
}

// SetVersion changes the version of the API server.
func (a *About) SetVersion(version string) { a.change(func() { a.version = version }) }

// SetUser changes the name of the user.
func (a *About) SetUser(user string) { a.change(func() { a.user = user }) }

// Deny decides which rights the user does not have.
func (a *About) Deny(denied func(Question) bool) { a.change(func() { a.denied = denied }) }

// Install serves a version of a group with these kinds.
func (a *About) Install(group, version string, kinds ...string) {
	a.change(func() {
		if a.served[group] == nil {
			a.served[group] = map[string][]string{}
		}
		a.served[group][version] = kinds
	})
}

// Uninstall removes a group.
func (a *About) Uninstall(group string) { a.change(func() { delete(a.served, group) }) }

// Put puts an object, or a list, at a path. A nil object is not found.
func (a *About) Put(path string, object any) { a.change(func() { a.objects[path] = object }) }

func (a *About) change(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

func (a *About) answer(w http.ResponseWriter, body func() any) {
	a.mu.Lock()
	text, err := json.Marshal(body())
	a.mu.Unlock()
	if err != nil {
		WriteStatus(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

func (a *About) review(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Spec struct {
			ResourceAttributes Question `json:"resourceAttributes"`
		} `json:"spec"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		WriteStatus(w, http.StatusBadRequest, err.Error())
		return
	}
	a.answer(w, func() any {
		allowed := a.denied == nil || !a.denied(asked.Spec.ResourceAttributes)
		return map[string]any{"status": map[string]any{"allowed": allowed}}
	})
}

func (a *About) group(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("group")
	a.mu.Lock()
	versions := slices.Sorted(maps.Keys(a.served[name]))
	a.mu.Unlock()
	if len(versions) == 0 {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	group := metav1.APIGroup{Name: name}
	for _, v := range versions {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
	}
	a.answer(w, func() any { return group })
}

func (a *About) kinds(w http.ResponseWriter, r *http.Request) {
	name, version := r.PathValue("group"), r.PathValue("version")
	a.mu.Lock()
	kinds, ok := a.served[name][version]
	a.mu.Unlock()
	if !ok {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	list := metav1.APIResourceList{GroupVersion: name + "/" + version}
	for _, k := range kinds {
		list.APIResources = append(list.APIResources, metav1.APIResource{Kind: k})
	}
	a.answer(w, func() any { return list })
}

// object answers with what was put at the path. Without an object a list is empty.
func (a *About) object(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	object := a.objects[r.URL.Path]
	a.mu.Unlock()
	switch {
	case object != nil:
		a.answer(w, func() any { return object })
	case r.PathValue("name") == "" && r.URL.Path != "/api/v1/namespaces/"+r.PathValue("ns"):
		a.answer(w, func() any { return map[string]any{"items": []any{}} })
	default:
		if name := r.PathValue("name"); name != "" {
			WriteNotFound(w, "objects", name)
			return
		}
		WriteNotFound(w, "namespaces", r.PathValue("ns"))
	}
}
