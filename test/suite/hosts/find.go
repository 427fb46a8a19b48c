package hosts

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/exec/names"
)

// Seen is what one process was given, as printed by seen.py.
type Seen struct {
	Case   string
	Worker string // "": the launcher
	Argv   []string
	Env    map[string]string
	Files  map[string]string // by path
}

// Read returns what the processes of a case printed.
func (c Case) Read(output string) (all []Seen, err error) {
	for line := range strings.Lines(output) {
		_, text, said := strings.Cut(line, "seen {")
		if !said {
			continue
		}
		var one Seen
		if err := json.Unmarshal([]byte("{"+text), &one); err != nil {
			return nil, fmt.Errorf("%s: read %.100q: %w", c.Name, line, err)
		}
		if one.Case == c.Name {
			all = append(all, one)
		}
	}
	if want := max(c.Processes, 1); len(all) != want {
		return nil, fmt.Errorf("%s: %d of %d processes printed what they were given", c.Name, len(all), want)
	}
	return all, nil
}

// Found has the hosts in one variable of one process, as "host:port", and the expected workers.
type Found struct {
	Case, Process, Name string
	Endpoints           []string
	Workers             []string
}

// Find returns the hosts of each listed variable. It returns an error for a process that is not where the case
// expects it (on a worker, or in the launcher), and for a listed variable without a host. A bad port is an error
// too, and so is a host in a variable or an argument that is not listed.
func (c Case) Find(all []Seen, workers []string) (found []Found, err error) {
	for _, s := range all {
		own := slices.Index(workers, s.Worker)
		if (c.Processes > 0) != (own >= 0) {
			return nil, fmt.Errorf("%s: a process on worker %q of %q", c.Name, s.Worker, workers)
		}
		listed := map[string]bool{}
		for _, w := range c.Wants {
			value, there := s.value(w.Name)
			listed[w.Name] = true
			if !there && (w.Rare || w.Only != nil && !slices.Contains(w.Only, own)) {
				continue
			}
			f := Found{Case: c.Name, Process: strings.TrimSpace(s.Argv[0] + " on " + s.Worker), Name: w.Name}
			if f.Endpoints, err = s.endpoints(w, value); err != nil {
				return nil, fmt.Errorf("%s: %s: %s=%q: %w", c.Name, f.Process, w.Name, value, err)
			}
			for _, i := range w.Who(own) {
				f.Workers = append(f.Workers, workers[i])
			}
			found = append(found, f)
		}
		if err := s.strays(listed, workers); err != nil {
			return nil, fmt.Errorf("%s: %s on %q: %w", c.Name, s.Argv[0], s.Worker, err)
		}
	}
	return found, nil
}

// value returns the value of a variable or, for a name with a dash, of an option.
func (s Seen) value(name string) (string, bool) {
	if !strings.HasPrefix(name, "-") {
		value, there := s.Env[name]
		return value, there
	}
	for i, word := range s.Argv {
		if value, there := strings.CutPrefix(word, name+"="); there {
			return value, true
		}
		if word == name && i+1 < len(s.Argv) {
			return s.Argv[i+1], true
		}
	}
	return "", false
}

// endpoints splits a value into endpoints: TF_CONFIG, the content of the file that it names, or hosts between
// commas and spaces.
func (s Seen) endpoints(w Want, value string) (list []string, err error) {
	words := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	switch {
	case strings.HasPrefix(value, "{"):
		if words, err = ofCluster(value); err != nil {
			return nil, err
		}
	case strings.HasPrefix(value, "/"):
		body, there := s.Files[value]
		if !there {
			return nil, fmt.Errorf("no such file")
		}
		words = strings.Fields(body)
	}
	port := strconv.Itoa(Answer)
	if w.Port != "" {
		if port, _ = s.value(w.Port); port == "" {
			return nil, fmt.Errorf("no %s", w.Port)
		}
	}
	for _, word := range words {
		if strings.HasPrefix(word, "slots=") {
			continue
		}
		if _, after, url := strings.Cut(word, "://"); url {
			word = after
		}
		host, own, err := net.SplitHostPort(word)
		if err != nil {
			host, own = strings.Trim(word, "[]"), port
		}
		if w.Slots {
			own = port
		}
		if n, err := strconv.Atoi(own); err != nil || !slices.Contains(Ports(), n) || host == "" {
			return nil, fmt.Errorf("%q is no host with a port of this run", word)
		}
		list = append(list, net.JoinHostPort(host, own))
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there is no host in it")
	}
	return list, nil
}

// ofCluster returns the addresses of TF_CONFIG, from lists or, in the sparse form, from maps.
func ofCluster(text string) (list []string, err error) {
	var config struct{ Cluster map[string]json.RawMessage }
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return nil, err
	}
	for _, role := range slices.Sorted(maps.Keys(config.Cluster)) {
		var many []string
		var sparse map[string]string
		if json.Unmarshal(config.Cluster[role], &many) != nil {
			if err := json.Unmarshal(config.Cluster[role], &sparse); err != nil {
				return nil, fmt.Errorf("role %s: %w", role, err)
			}
			many = slices.Collect(maps.Values(sparse))
		}
		list = append(list, many...)
	}
	return list, nil
}

// likeHost matches an address, and a name with a port.
var likeHost = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}\b|\blocalhost\b|\[[0-9a-fA-F:]*:[0-9a-fA-F:]*\]|\b[a-zA-Z][a-zA-Z0-9.-]*:\d{2,5}\b|\b[a-z0-9-]+(\.[a-z0-9-]+)*\.(svc|local)\b`)

// network matches the network of an interface, which is not a host.
var network = regexp.MustCompile(`[0-9a-fA-F.:]+/\d+`)

// strays returns an error for a host in a variable or argument that is not listed. The names of workers are hosts.
// The process's own worker and the names of files are allowed.
func (s Seen) strays(listed map[string]bool, workers []string) error {
	check := func(name, value string) error {
		host := likeHost.FindString(network.ReplaceAllString(value, ""))
		for _, w := range workers {
			if strings.Contains(value, w) {
				host = w
			}
		}
		if host == "" || listed[name] || strings.HasPrefix(value, "/") {
			return nil
		}
		return fmt.Errorf("%s=%q has the host %s, and is not listed in its case", name, value, host)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if name == names.EnvWorker || name == names.EnvFake || strings.HasPrefix(name, "HOSTS_") {
			continue
		}
		if err := check(name, s.Env[name]); err != nil {
			return err
		}
	}
	before := ""
	for _, word := range s.Argv {
		name, value, joined := strings.Cut(word, "=")
		if !joined {
			name, value = before, word
		}
		if err := check(name, value); err != nil {
			return err
		}
		before = word
	}
	return nil
}
