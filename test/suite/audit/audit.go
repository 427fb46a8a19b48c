package audit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Request is one request that the API server has answered.
type Request struct {
	Received  time.Time
	UserAgent string
	User      string // system:serviceaccount:NAMESPACE:NAME for pods
	Verb      string // get, list, watch, create, update, patch, apply, delete...
	Resource  string // pods, launchjobs/status...
	Namespace string // "" for objects that have none, and for lists of all namespaces
	Name      string
	Code      int // of HTTP
}

// event is what we read of a line: see Event in k8s.io/apiserver/pkg/apis/audit/v1.
type event struct {
	Verb      string
	UserAgent string
	User      struct{ Username string }
	ObjectRef struct{ Resource, Subresource, Namespace, Name string }

	ResponseStatus           struct{ Code int }
	RequestReceivedTimestamp time.Time
}

// Since reads the requests that came at or after a moment. It is an error when there
// are none: whoever asks has made some, so nobody writes that log.
func Since(path string, from time.Time) ([]Request, error) {
	base, extension := strings.TrimSuffix(path, filepath.Ext(path)), filepath.Ext(path)
	files, err := filepath.Glob(base + "-*" + extension) // what was there before the log began anew
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	var all []Request
	for _, file := range append(files, path) {
		list, err := read(file, from)
		if err != nil {
			return nil, fmt.Errorf("read audit log %s: %w", file, err)
		}
		all = append(all, list...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("read audit log %s: nothing since %s", path, from.Format(time.TimeOnly))
	}
	return all, nil
}

func read(path string, from time.Time) ([]Request, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parse(f, from)
}

// parse reads lines; a last one that is not whole is still being written.
func parse(text io.Reader, from time.Time) (list []Request, err error) {
	lines := bufio.NewReaderSize(text, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		if e.RequestReceivedTimestamp.Before(from) {
			continue
		}
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		list = append(list, Request{Received: e.RequestReceivedTimestamp, UserAgent: e.UserAgent, User: e.User.Username, Verb: e.Verb,
			Resource: resource, Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name, Code: e.ResponseStatus.Code})
	}
}

// Of keeps the requests of our program of this name ("muster-controller") about objects
// of a namespace, or of none, leases and watches left out.
func Of(list []Request, program, namespace string) (kept []Request) {
	for _, r := range list {
		if r.by(program) && (r.Namespace == namespace || r.Namespace == "") && r.Verb != "watch" && r.Resource != "leases" {
			kept = append(kept, r)
		}
	}
	return kept
}

// Forbidden keeps the answers 403, watches too, to our programs anywhere, and to
// whoever has a token of the namespace.
func Forbidden(list []Request, namespace string) (kept []Request) {
	for _, r := range list {
		ours := r.by("muster-controller") || r.by("muster-launcher") || strings.HasPrefix(r.User, "system:serviceaccount:"+namespace+":")
		if ours && r.Code == 403 {
			kept = append(kept, r)
		}
	}
	return kept
}

func (r Request) by(program string) bool { return strings.HasPrefix(r.UserAgent, program+"/") }

// Count counts by verb and resource, as in "create pods".
func Count(list []Request) map[string]int {
	count := map[string]int{}
	for _, r := range list {
		count[r.Verb+" "+r.Resource]++
	}
	return count
}
