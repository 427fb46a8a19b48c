package fakekube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// event is one change of one pod; pod is nil when it was deleted, old when it
// was created.
type event struct {
	rv       uint64
	old, pod *corev1.Pod
}

// seenBy gives the event as a watch with this namespace and selector sees it;
// "" means not at all.
func (e event) seenBy(namespace string, selector labels.Selector) (string, *corev1.Pod) {
	in := func(p *corev1.Pod) bool {
		return p != nil && (namespace == "" || p.Namespace == namespace) && selector.Matches(labels.Set(p.Labels))
	}
	switch before, after := in(e.old), in(e.pod); {
	case after && before:
		return "MODIFIED", e.pod
	case after:
		return "ADDED", e.pod
	case before:
		gone := e.old.DeepCopy()
		gone.ResourceVersion = strconv.FormatUint(e.rv, 10)
		return "DELETED", gone
	}
	return "", nil
}

// Compact forgets the events so far: watches that are behind, and every open
// one, get the in-stream 410 that an API server sends after an etcd compaction.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rv++ // so that a watch which has seen everything is too old as well
	s.compacted = s.rv
	s.events = nil
	s.wake()
}

// Bookmark sends a bookmark on every watch that allows them, and on those that
// are opened later from before it.
func (s *Server) Bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rv++
	s.bookmark = s.rv
	s.wake()
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, selector labels.Selector) {
	q := r.URL.Query()
	from, err := strconv.ParseUint(q.Get("resourceVersion"), 10, 64)
	if err != nil {
		WriteStatus(w, http.StatusBadRequest, "this server needs a resourceVersion to watch from")
		return
	}
	marks, _ := strconv.ParseBool(q.Get("allowWatchBookmarks"))
	limit := 30 * time.Minute
	if n, _ := strconv.Atoi(q.Get("timeoutSeconds")); n > 0 {
		limit = time.Duration(n) * time.Second
	}
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	s.mu.Lock()
	cut := s.cut
	s.mu.Unlock()

	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	out := json.NewEncoder(w)
	for {
		s.mu.Lock()
		events, changed, rv := s.events, s.changed, s.rv
		expired, marked := from < s.compacted, marks && from < s.bookmark
		s.mu.Unlock()
		if expired {
			_ = out.Encode(wireEvent{"ERROR", status(http.StatusGone, fmt.Sprintf("too old resource version: %d (%d)", from, rv))})
			return
		}
		for _, e := range events {
			if e.rv <= from {
				continue
			}
			if kind, pod := e.seenBy(r.PathValue("ns"), selector); kind != "" {
				_ = out.Encode(wireEvent{kind, pod})
			}
			from = e.rv
		}
		if marked {
			from = rv
			_ = out.Encode(wireEvent{"BOOKMARK", bookmark(rv)})
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-cut:
			return
		case <-timeout.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}

type wireEvent struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

func bookmark(rv uint64) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.FormatUint(rv, 10)},
	}
}
