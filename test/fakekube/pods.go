package fakekube

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Set creates the pod or replaces it. Missing namespace ("default"), uid and
// kind are filled in; the resource version is the server's. The pod is copied.
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

// Edit changes a pod that exists; it reports whether it does.
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

// record numbers the event and wakes the watches. The caller holds s.mu.
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
	writeJSON(w, s.list(r.PathValue("ns"), selector, field))
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
