package pdsh

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/exec/rsh"
)

// Help is the text of -h.
const Help = `Usage: pdsh [-options] -w HOST,HOST... COMMAND...

Runs COMMAND on many workers of the launcher that runs here. %h in it is the host,
%n its number from 0, %u the user, %% a percent sign.

  -w LIST   hosts: a,b or worker-[0-3]; -NAME leaves one out, ^FILE and - read lists
  -x LIST   hosts to leave out
  -a        all workers
  -f N      at most N at a time (default 32)
  -u SEC    stop a command after so many seconds
  -S        exit with the largest of the commands' exit codes, else with 0
  -N        no "HOST: " before the lines
  -l USER   stands for %u; commands run as the workers' own user
  -R NAME, -t SEC, -M NAME, -b, -d, -i   accepted; they change nothing here
`

// ErrHelp reports that the command line asks for help.
var ErrHelp = errors.New("help was asked for")

// Job is one call of pdsh.
type Job struct {
	Hosts      []string // in the order of their numbers
	Everywhere bool     // -a: Add the launcher's workers
	FanOut     int      // concurrent commands, at least 1
	Timeout    time.Duration
	Largest    bool
	NoLabels   bool

	users   map[string]string // by host, if given as user@host
	user    string
	words   []string
	exclude []string
	stdin   io.Reader
}

type hinted struct{ text, tip string }

func (h *hinted) Error() string { return h.text }

// Hint says what to do.
func (h *hinted) Hint() string { return h.tip }

// Parse reads pdsh's arguments, without its own name. Hosts come from the arguments, else from the
// file in WCOLL. FANOUT and PDSH_RCMD_TYPE are the defaults of options. With `-w -` the list is
// read from stdin. Parse returns ErrHelp for -h and rsh.ErrVersion for -V.
func Parse(words []string, getenv func(string) string, stdin io.Reader) (Job, error) {
	j := Job{FanOut: 32, users: map[string]string{}, stdin: stdin}
	j.user = firstOf(getenv("USER"), getenv("LOGNAME"), "root")
	way := firstOf(getenv("PDSH_RCMD_TYPE"), "ssh")
	if n := getenv("FANOUT"); n != "" {
		words = append([]string{"-f" + n}, words...)
	}
	rest, err := j.options(words, &way)
	if err != nil {
		return Job{}, err
	}
	if way == "exec" {
		return Job{}, &hinted{"pdsh: -R exec is not supported: it runs commands on this machine", "omit -R: commands then run on the workers"}
	}
	if file := getenv("WCOLL"); file != "" && len(j.Hosts) == 0 && !j.Everywhere {
		if err := j.list("^"+file, false); err != nil {
			return Job{}, err
		}
	}
	if err := j.Add(nil); err != nil && !j.Everywhere {
		return Job{}, err
	}
	j.words = rest
	if strings.Join(rest, "") == "" {
		return Job{}, &hinted{"pdsh: no command given; commands on standard input are not supported", "pdsh -w worker-0,worker-1 hostname"}
	}
	return j, nil
}

// Add appends hosts, without the excluded ones. It returns an error if no host is left.
func (j *Job) Add(hosts []string) error {
	j.Hosts = slices.DeleteFunc(append(j.Hosts, hosts...), func(h string) bool { return slices.Contains(j.exclude, h) })
	if len(j.Hosts) == 0 {
		return &hinted{"pdsh: no remote hosts specified", "pdsh -w worker-[0-3] hostname; -a means all workers, `agent hosts` lists them"}
	}
	return nil
}

// options parses leading options of words.
func (j *Job) options(words []string, way *string) ([]string, error) {
	for len(words) > 0 && len(words[0]) > 1 && words[0][0] == '-' {
		w := words[0]
		words = words[1:]
		if w == "--" {
			break
		}
		for i := 1; i < len(w); i++ {
			c := w[i]
			if strings.IndexByte("ltufwxRM", c) < 0 {
				if err := j.flag(c); err != nil {
					return nil, err
				}
				continue
			}
			value := w[i+1:]
			if value == "" {
				if len(words) == 0 {
					return nil, fmt.Errorf("pdsh: option -%c needs a value", c)
				}
				value, words = words[0], words[1:]
			}
			if c == 'R' {
				*way = value
			} else if err := j.value(c, value); err != nil {
				return nil, err
			}
			break
		}
	}
	return words, nil
}

func (j *Job) flag(c byte) error {
	switch c {
	case 'S':
		j.Largest = true
	case 'N':
		j.NoLabels = true
	case 'a', 'A':
		j.Everywhere = true
	case 'h':
		return ErrHelp
	case 'V':
		return rsh.ErrVersion
	case 'b', 'd', 'i':
	case 'g', 'X', 'F':
		return &hinted{fmt.Sprintf("pdsh: option -%c is not supported: there are no genders", c), "-a means all workers, -w names some"}
	default:
		return &hinted{fmt.Sprintf("pdsh: unknown option -%c", c), "pdsh -h lists the options"}
	}
	return nil
}

func (j *Job) value(c byte, value string) error {
	switch c {
	case 'l':
		j.user = value
	case 'w':
		return j.list(value, false)
	case 'x':
		return j.list(value, true)
	case 'f', 'u', 't':
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || c == 'f' && n == 0 {
			return fmt.Errorf("pdsh: -%c %s: want a number, as in -%c 4", c, value, c)
		}
		if c == 'f' {
			j.FanOut = n
		}
		if c == 'u' {
			j.Timeout = time.Duration(n) * time.Second
		}
	}
	return nil
}

// list reads a list of hosts, or of hosts to exclude.
func (j *Job) list(list string, out bool) error {
	if list == "-" {
		text, err := io.ReadAll(j.stdin)
		if err != nil {
			return fmt.Errorf("pdsh: read hosts: %w", err)
		}
		return j.lines(string(text), out)
	}
	for _, entry := range split(list) {
		switch entry[0] {
		case '^':
			text, err := os.ReadFile(entry[1:])
			if err != nil {
				return fmt.Errorf("pdsh: read hosts: %w", err)
			}
			if err := j.lines(string(text), out); err != nil {
				return err
			}
		case '/':
			return &hinted{fmt.Sprintf("pdsh: %s: patterns are not supported", entry), "write a range as worker-[0-3]"}
		case '-':
			if err := j.host(entry[1:], true); err != nil {
				return err
			}
		default:
			if err := j.host(entry, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// lines reads a file of hosts; # begins a comment.
func (j *Job) lines(text string, out bool) error {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		for _, entry := range split(line) {
			if err := j.host(entry, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// host reads [ssh:][user@]pattern.
func (j *Job) host(entry string, out bool) error {
	entry = strings.TrimPrefix(strings.TrimPrefix(entry, "ssh:"), "rsh:")
	user, pattern, ok := strings.Cut(entry, "@")
	if !ok {
		user, pattern = "", entry
	}
	hosts, err := expand(pattern)
	if err != nil {
		return err
	}
	if out {
		j.exclude = append(j.exclude, hosts...)
		return nil
	}
	if len(j.Hosts)+len(hosts) > maxHosts {
		return tooMany(pattern)
	}
	for _, h := range hosts {
		if user != "" {
			j.users[h] = user
		}
	}
	j.Hosts = append(j.Hosts, hosts...)
	return nil
}

// Line returns the command for host i, and its user.
func (j *Job) Line(i int) (line, user string) {
	user = firstOf(j.users[j.Hosts[i]], j.user)
	return strings.NewReplacer("%h", j.Hosts[i], "%n", strconv.Itoa(i), "%u", user, "%%", "%").
		Replace(strings.Join(j.words, " ")), user
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}
