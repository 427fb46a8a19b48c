package fakekube

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Set creates the pod or replaces it. It fills in a missing namespace ("default"), uid and kind, and sets the
// resource version. The pod is copied.
func (s *Server) Set(pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(pod.DeepCopy())
}

func (s *Server) set(pod *corev1.Pod) {
	pod.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	if pod.Namespace == "" {
		pod.Namespace = metav1.NamespaceDefault
	}
	key := pod.Namespace + "/" + pod.Name
	old := s.pods[key]
	if pod.UID == "" {
		pod.UID = types.UID(fmt.Sprintf("uid-%s-%d", pod.Name, s.rv+1))
		if old != nil {
			pod.UID = old.UID
		}
	}
	s.pods[key] = pod
	s.record(event{old: old, pod: pod})
}

// Edit changes an existing pod. It reports whether the pod exists.
func (s *Server) Edit(namespace, name string, change func(*corev1.Pod)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.pods[namespace+"/"+name]
	if old == nil {
		return false
	}
	pod := old.DeepCopy()
	change(pod)
	s.set(pod)
	return true
}

// Delete removes the object at once, as after the last finalizer.
func (s *Server) Delete(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := namespace + "/" + name
	if old := s.pods[key]; old != nil {
		delete(s.pods, key)
		s.record(event{old: old})
	}
}

// Pod returns a copy of the pod, or nil.
func (s *Server) Pod(namespace, name string) *corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[namespace+"/"+name].DeepCopy()
}

// record assigns a resource version to the event and wakes the watches. The caller holds s.mu.
func (s *Server) record(e event) {
	s.rv++
	e.rv = s.rv
	if e.pod != nil {
		e.pod.ResourceVersion = strconv.FormatUint(e.rv, 10)
	}
	s.events = append(s.events, e)
	s.wake()
}

func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	pod := s.Pod(r.PathValue("ns"), name)
	if pod == nil {
		WriteStatus(w, http.StatusNotFound, fmt.Sprintf("pods %q not found", name))
		return
	}
	writeJSON(w, pod)
}

func (s *Server) listOrWatch(w http.ResponseWriter, r *http.Request) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		WriteStatus(w, http.StatusBadRequest, "unable to parse requirement: "+err.Error())
		return
	}
	field, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	if err != nil {
		WriteStatus(w, http.StatusBadRequest, "unable to parse requirement: "+err.Error())
		return
	}
	if watch, _ := strconv.ParseBool(r.URL.Query().Get("watch")); watch {
		s.watch(w, r, selector)
		return
	}
	list := s.list(r.PathValue("ns"), selector, field)
	if err := cut(list, r.URL.Query()); err != nil {
		WriteStatus(w, http.StatusBadRequest, err.Error())
		return
	}
	writeJSON(w, list)
}

// cut leaves the page of a list that a query asks for with limit and continue. Later pages have the
// resource version of the first one, but the pods of now.
func cut(list *corev1.PodList, query url.Values) error {
	if next := query.Get("continue"); next != "" {
		version, after, ok := strings.Cut(next, " ")
		if !ok {
			return errors.New("continue key is not valid")
		}
		list.ResourceVersion = version
		list.Items = slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.Namespace+"/"+p.Name <= after })
	}
	limit, err := strconv.Atoi(cmp.Or(query.Get("limit"), "0"))
	if err != nil {
		return fmt.Errorf("limit: %w", err)
	}
	if limit > 0 && len(list.Items) > limit {
		last := list.Items[limit-1]
		left := int64(len(list.Items) - limit)
		list.Items, list.Continue, list.RemainingItemCount = list.Items[:limit], list.ResourceVersion+" "+last.Namespace+"/"+last.Name, &left
	}
	return nil
}

func (s *Server) list(namespace string, selector labels.Selector, field fields.Selector) *corev1.PodList {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
	list.ResourceVersion = strconv.FormatUint(s.rv, 10)
	for _, key := range slices.Sorted(maps.Keys(s.pods)) {
		if pod := s.pods[key]; (namespace == "" || pod.Namespace == namespace) && selector.Matches(labels.Set(pod.Labels)) &&
			field.Matches(fields.Set{"metadata.name": pod.Name, "metadata.namespace": pod.Namespace, "status.phase": string(pod.Status.Phase)}) {
			list.Items = append(list.Items, *pod.DeepCopy())
		}
	}
	return list
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// Objects are the custom resources of one kind. They support list, get, create, delete and the merge patch of
// scale. They are trees of JSON without validation.
type Objects struct {
	s      *Server
	kind   string
	plural string
	held   map[string]map[string]any // by namespace/name; guarded by s.mu
}

// Serve adds a kind. Call it before the first request.
func (s *Server) Serve(groupVersion, kind, plural string) *Objects {
	o := &Objects{s: s, kind: kind, plural: plural, held: map[string]map[string]any{}}
	all := "/apis/" + groupVersion + "/" + plural
	in := "/apis/" + groupVersion + "/namespaces/{ns}/" + plural
	s.Handle("GET "+all, http.HandlerFunc(o.list))
	s.Handle("GET "+in, http.HandlerFunc(o.list))
	s.Handle("POST "+in, http.HandlerFunc(o.create))
	s.Handle("GET "+in+"/{name}", http.HandlerFunc(o.get))
	s.Handle("DELETE "+in, http.HandlerFunc(o.deleteAll))
	s.Handle("DELETE "+in+"/{name}", http.HandlerFunc(o.delete))
	s.Handle("PATCH "+in+"/{name}/scale", http.HandlerFunc(o.scale))
	return o
}

// Put creates the object, or replaces it, and fills in uid and resource version. json.Marshal must encode v as a
// JSON object.
func (o *Objects) Put(v any) {
	text, err := json.Marshal(v)
	var tree map[string]any
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if err != nil {
		o.s.tb.Errorf("put object: %v", err)
		return
	}
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	o.put(tree)
}

func (o *Objects) put(tree map[string]any) {
	meta := metaOf(tree)
	o.s.rv++
	meta["resourceVersion"] = strconv.FormatUint(o.s.rv, 10)
	if meta["uid"] == nil {
		meta["uid"] = fmt.Sprintf("uid-%v-%d", meta["name"], o.s.rv)
	}
	o.held[fmt.Sprintf("%v/%v", meta["namespace"], meta["name"])] = tree
}

// Get decodes the object into v. It reports whether the object exists.
func (o *Objects) Get(namespace, name string, v any) bool {
	o.s.mu.Lock()
	tree, ok := o.held[namespace+"/"+name]
	text, err := json.Marshal(tree)
	o.s.mu.Unlock()
	if ok && err == nil {
		err = json.Unmarshal(text, v)
	}
	return ok && err == nil
}

func metaOf(tree map[string]any) map[string]any {
	meta, _ := tree["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		tree["metadata"] = meta
	}
	return meta
}

func (o *Objects) list(w http.ResponseWriter, r *http.Request) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		WriteStatus(w, http.StatusBadRequest, "unable to parse requirement: "+err.Error())
		return
	}
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	items := []any{}
	for _, key := range slices.Sorted(maps.Keys(o.held)) {
		if ns := r.PathValue("ns"); ns != "" && !strings.HasPrefix(key, ns+"/") {
			continue
		}
		have := labels.Set{}
		if m, ok := metaOf(o.held[key])["labels"].(map[string]any); ok {
			for k, v := range m {
				have[k] = fmt.Sprint(v)
			}
		}
		if selector.Matches(have) {
			items = append(items, o.held[key])
		}
	}
	writeJSON(w, map[string]any{"kind": o.kind + "List", "items": items, "metadata": map[string]string{"resourceVersion": strconv.FormatUint(o.s.rv, 10)}})
}

// find returns the object, or answers 404 if it does not exist. The caller holds s.mu.
func (o *Objects) find(w http.ResponseWriter, r *http.Request) (tree map[string]any, key string) {
	key = r.PathValue("ns") + "/" + r.PathValue("name")
	if tree = o.held[key]; tree == nil {
		WriteNotFound(w, o.plural, r.PathValue("name"))
	}
	return tree, key
}

func (o *Objects) get(w http.ResponseWriter, r *http.Request) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	if tree, _ := o.find(w, r); tree != nil {
		writeJSON(w, tree)
	}
}

func (o *Objects) create(w http.ResponseWriter, r *http.Request) {
	var tree map[string]any
	if err := json.NewDecoder(r.Body).Decode(&tree); err != nil {
		WriteStatus(w, http.StatusBadRequest, err.Error())
		return
	}
	meta := metaOf(tree)
	meta["namespace"] = r.PathValue("ns")
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	if key := fmt.Sprintf("%v/%v", meta["namespace"], meta["name"]); o.held[key] != nil {
		WriteStatus(w, http.StatusConflict, fmt.Sprintf("%s %q already exists", o.plural, meta["name"]))
		return
	}
	if r.URL.Query().Get("dryRun") != "All" {
		o.put(tree)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(tree)
}

func (o *Objects) delete(w http.ResponseWriter, r *http.Request) {
	var options struct {
		Preconditions struct{ UID string }
	}
	_ = json.NewDecoder(r.Body).Decode(&options)
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	tree, key := o.find(w, r)
	switch uid := options.Preconditions.UID; {
	case tree == nil:
	case uid != "" && uid != metaOf(tree)["uid"]:
		WriteStatus(w, http.StatusConflict, "the UID in the precondition does not match")
	default:
		delete(o.held, key)
		writeJSON(w, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	}
}

// deleteAll deletes all objects of the namespace, as an API server does without a name.
func (o *Objects) deleteAll(w http.ResponseWriter, r *http.Request) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	maps.DeleteFunc(o.held, func(key string, _ map[string]any) bool { return strings.HasPrefix(key, r.PathValue("ns")+"/") })
	writeJSON(w, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
}

// scale applies a merge patch of spec.replicas to spec.workers.
func (o *Objects) scale(w http.ResponseWriter, r *http.Request) {
	var patch struct {
		Spec struct{ Replicas int }
	}
	if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
		WriteStatus(w, http.StatusBadRequest, err.Error())
		return
	}
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	tree, _ := o.find(w, r)
	if tree == nil {
		return
	}
	spec, _ := tree["spec"].(map[string]any)
	if spec == nil {
		spec = map[string]any{}
		tree["spec"] = spec
	}
	spec["workers"] = patch.Spec.Replicas
	o.put(tree)
	writeJSON(w, map[string]any{"kind": "Scale", "apiVersion": "autoscaling/v1", "spec": map[string]int{"replicas": patch.Spec.Replicas}})
}
