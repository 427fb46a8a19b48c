package fakekube

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// LogPath is the pattern for registering Logs.
const LogPath = "GET /api/v1/namespaces/{ns}/pods/{name}/log"

// Logs serves pods/log: timestamps, tailLines, follow, and sinceTime in whole seconds, which filters line by line
// as a kubelet does.
type Logs struct {
	mu      sync.Mutex
	held    map[string]*podLog // by namespace/name/container
	changed chan struct{}
	// cut chooses after how many bytes a connection ends, and whether it ends cleanly. See CutAfter.
	cut func() (bytes int, clean bool)
}

type podLog struct {
	lines []logLine
	ended bool
}

type logLine struct {
	at   time.Time
	text string
}

// NewLogs returns empty logs. Register them with Handle(LogPath, ...).
func NewLogs() *Logs {
	return &Logs{held: map[string]*podLog{}, changed: make(chan struct{})}
}

// Write adds a line. If text has no "\n" at its end, the line has none either.
func (l *Logs) Write(namespace, pod, container string, at time.Time, text string) {
	l.change(namespace, pod, container, func(p *podLog) { p.lines = append(p.lines, logLine{at, text}) })
}

// End marks the log as complete, so that connections that follow it end.
func (l *Logs) End(namespace, pod, container string) {
	l.change(namespace, pod, container, func(p *podLog) { p.ended = true })
}

// Restart gives the container another, empty log, as when its kubelet starts it again in its pod.
func (l *Logs) Restart(namespace, pod, container string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[namespace+"/"+pod+"/"+container] = &podLog{}
}

// Clear makes the log answer like a kubelet whose container was removed: 200, and an error text without a
// timestamp.
func (l *Logs) Clear(namespace, pod, container string) {
	l.change(namespace, pod, container, func(p *podLog) {
		p.lines, p.ended = []logLine{{text: "unable to retrieve container logs for containerd://0123"}}, true
	})
}

func (l *Logs) change(namespace, pod, container string, with func(*podLog)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := namespace + "/" + pod + "/" + container
	if l.held[key] == nil {
		l.held[key] = &podLog{}
	}
	with(l.held[key])
	close(l.changed)
	l.changed = make(chan struct{})
}

// CutAfter sets next, which is called for each connection. It returns the number of bytes after which to cut the
// connection (0: never), and whether the connection ends as if the log had ended.
func (l *Logs) CutAfter(next func() (bytes int, clean bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = next
}

var errCut = errors.New("cut")

// ServeHTTP answers as an API server that forwards to a kubelet.
func (l *Logs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	follow, _ := strconv.ParseBool(q.Get("follow"))
	stamps, _ := strconv.ParseBool(q.Get("timestamps"))
	since, _ := time.Parse(time.RFC3339, q.Get("sinceTime"))
	tail, tailErr := strconv.Atoi(q.Get("tailLines"))
	key := r.PathValue("ns") + "/" + r.PathValue("name") + "/" + q.Get("container")
	l.mu.Lock()
	log, next := l.held[key], l.cut
	l.mu.Unlock()
	if log == nil {
		WriteStatus(w, http.StatusBadRequest, fmt.Sprintf("container %q in pod %q is waiting to start: ContainerCreating", q.Get("container"), r.PathValue("name")))
		return
	}
	out := &cutter{w: bufio.NewWriter(w)}
	if next != nil {
		out.left, out.clean = next()
		out.limited = out.left > 0
	}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for from := 0; ; {
		l.mu.Lock()
		lines, ended, changed := log.lines, log.ended, l.changed
		l.mu.Unlock()
		if from == 0 && tailErr == nil {
			from = max(0, len(lines)-tail)
		}
		for ; from < len(lines); from++ {
			own := lines[from].at.IsZero() // a text of the kubelet itself
			if !own && lines[from].at.Before(since) {
				continue
			}
			text := lines[from].text
			if stamps && !own {
				text = lines[from].at.Format(time.RFC3339Nano) + " " + text
			}
			if out.write(text) != nil {
				out.flush(w)
				if !out.clean {
					panic(http.ErrAbortHandler)
				}
				return
			}
		}
		out.flush(w)
		if ended || !follow {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// cutter writes at most left bytes if it is limited.
type cutter struct {
	w       *bufio.Writer
	limited bool
	left    int
	clean   bool
}

func (c *cutter) write(text string) error {
	if c.limited && len(text) >= c.left {
		_, _ = c.w.WriteString(text[:c.left])
		return errCut
	}
	c.left -= len(text)
	_, err := c.w.WriteString(text)
	return err
}

func (c *cutter) flush(w http.ResponseWriter) {
	_ = c.w.Flush()
	w.(http.Flusher).Flush()
}

// event is one change of one pod. pod is nil if it was deleted, old is nil if it was created.
type event struct {
	rv       uint64
	old, pod *corev1.Pod
}

// seenBy returns the event as a watch with this namespace and selector sees it. The type is "" if the watch does
// not see it.
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

// Compact drops all events so far. Every open watch, and every watch that is behind, gets the in-stream 410 that an
// API server sends after an etcd compaction.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rv++ // a watch that has seen everything is too old as well
	s.compacted = s.rv
	s.events = nil
	s.wake()
}

// Bookmark sends a bookmark on every watch that allows bookmarks. Watches that are opened later from an older
// version get it too.
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
