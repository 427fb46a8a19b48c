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

// event is the part of a line that we read. See Event in k8s.io/apiserver/pkg/apis/audit/v1.
type event struct {
	Verb      string
	UserAgent string
	User      struct{ Username string }
	ObjectRef struct{ Resource, Subresource, Namespace, Name string }

	ResponseStatus           struct{ Code int }
	RequestReceivedTimestamp time.Time
}

// Since reads the requests received at or after a time. If there are none, it returns an error: the caller has made
// requests, so the server does not write this log.
func Since(path string, from time.Time) ([]Request, error) {
	base, extension := strings.TrimSuffix(path, filepath.Ext(path)), filepath.Ext(path)
	files, err := filepath.Glob(base + "-*" + extension) // older parts of the log, after rotation
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

// parse reads lines. An incomplete last line is still being written, and is ignored.
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

// Of returns the requests of our program with this name ("muster-controller") about objects of a namespace, or
// about objects without a namespace. It leaves out leases and watches.
func Of(list []Request, program, namespace string) (kept []Request) {
	for _, r := range list {
		if r.by(program) && (r.Namespace == namespace || r.Namespace == "") && r.Verb != "watch" && r.Resource != "leases" {
			kept = append(kept, r)
		}
	}
	return kept
}

// Forbidden returns the requests answered with 403, including watches: those of our programs in any namespace, and
// those with a token of the namespace.
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

// Count counts requests by verb and resource, such as "create pods".
func Count(list []Request) map[string]int {
	count := map[string]int{}
	for _, r := range list {
		count[r.Verb+" "+r.Resource]++
	}
	return count
}
