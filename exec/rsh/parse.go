package rsh

import (
	"errors"
	"strings"
)

// Request is one call of the remote shell.
type Request struct {
	Host    string // as given, without user and brackets
	User    string // "" if not given; sessions run as the container's user
	Command string // one line for the remote shell; "" from Parse if not given
	NoStdin bool   // -n: do not read stdin
	// Terminal is -t: the caller wants a terminal. It is not sent, because sessions have none.
	Terminal bool
}

// Letters of ssh(1)'s options, by what happens to them.
const (
	ignored = "1246AaCgKkMqTvXxYy"     // about transport, keys, terminals: no effect
	valued  = "BbcDEeFIiJLlmOoPpQRSWw" // take a value
	refused = "DfGLNOQRWw"             // request something that is not supported
)

// ErrVersion reports that the command line only asks for the version (-V).
var ErrVersion = errors.New("the version was asked for")

// ErrHelp reports that the command line asks for help (--help alone, or -h).
var ErrHelp = errors.New("help was asked for")

// NoTerminal returns the error for a call that requires a terminal.
func NoTerminal() error {
	return &sentence{
		text: "rsh: -t: a session has no terminal",
		tip:  "omit -t; agent attach JOB --rank N opens a shell with a terminal in the pod of a worker",
	}
}

// line is a command line while it is parsed.
type line struct {
	Request
	subsystem bool   // -s: the command is the name of a subsystem
	remote    string // -o RemoteCommand
}

// Parse reads the arguments of an ssh-style command line, without the name of the program: options,
// [user@]host or ssh://[user@]host[:port], options again, command. It ignores options about
// transport, keys and terminals, and accepts -o with any name. It returns an error for options with
// another purpose (forwarding, background). After the host, options end at the first word of the
// command, as in ssh: Horovod calls `ssh -o A=b HOST -o ConnectTimeout=10 true`. Without a command
// Request.Command is ""; see Shell. Parse returns ErrVersion for -V and ErrHelp for --help.
func Parse(words []string) (Request, error) {
	var r line
	if len(words) == 1 && (words[0] == "--help" || words[0] == "-h") {
		return Request{}, ErrHelp
	}
	rest, ended, err := r.options(words)
	if err != nil {
		return Request{}, err
	}
	if len(rest) == 0 {
		return Request{}, &sentence{text: "rsh: no host given", tip: "agent rsh HOST COMMAND..."}
	}
	if err := r.host(rest[0]); err != nil {
		return Request{}, err
	}
	rest = rest[1:]
	if !ended {
		if rest, _, err = r.options(rest); err != nil {
			return Request{}, err
		}
	}
	r.Command = strings.Join(rest, " ")
	switch {
	case r.subsystem:
		if r.Command, err = subsystem(r.Command); err != nil {
			return Request{}, err
		}
	case r.Command == "":
		r.Command = r.remote
	}
	return r.Request, nil
}

// Shell returns the command for a call without one: a shell that reads standard input, with prompts
// on a terminal. Unlike ssh's it is no login shell, because /etc/profile would replace the
// container's PATH.
func Shell(terminal bool) string {
	if terminal {
		return "exec sh -i"
	}
	return "exec sh"
}

// subsystem returns the command that serves a subsystem: sftp's server, in the paths of the
// distributions (Debian, Fedora, Alpine and Arch).
func subsystem(name string) (string, error) {
	if name != "sftp" {
		return "", &sentence{text: "rsh: subsystem " + quoted(name) + " is not supported, only sftp is"}
	}
	return "for s in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec; do " +
		"[ -x $s/sftp-server ] && exec $s/sftp-server; done; " +
		"echo 'rsh: the image of the worker has no sftp-server: install openssh-sftp-server, or use rsync, or scp -O' >&2; exit 127", nil
}

// options parses leading options of words. ended reports whether "--" closed them.
func (r *line) options(words []string) (rest []string, ended bool, err error) {
	for len(words) > 0 {
		w := words[0]
		if w == "--" {
			return words[1:], true, nil
		}
		if len(w) < 2 || w[0] != '-' {
			break
		}
		words = words[1:]
		for i := 1; i < len(w); i++ {
			c := w[i]
			switch {
			case strings.IndexByte(refused, c) >= 0:
				return nil, false, &sentence{text: "rsh: option -" + string(c) + " is not supported: agent rsh only runs commands"}
			case c == 'V':
				return nil, false, ErrVersion
			case c == 'n':
				r.NoStdin = true
			case c == 't':
				r.Terminal = true
			case c == 's':
				r.subsystem = true
			case strings.IndexByte(ignored, c) >= 0:
			case strings.IndexByte(valued, c) >= 0:
				value := w[i+1:]
				if value == "" {
					if len(words) == 0 {
						return nil, false, &sentence{text: "rsh: option -" + string(c) + " needs a value"}
					}
					value, words = words[0], words[1:]
				}
				if err := r.value(c, value); err != nil {
					return nil, false, err
				}
				i = len(w)
			default:
				unknown := "-" + string(c)
				if c == '-' {
					unknown = w
				}
				return nil, false, &sentence{text: "rsh: unknown option " + unknown, tip: "options are those of ssh: agent rsh --help"}
			}
		}
	}
	return words, false, nil
}

// value handles the relevant options with a value: the user, -n by its long name, and a command.
func (r *line) value(option byte, value string) error {
	switch option {
	case 'l':
		r.User = value
	case 'o':
		key, val, ok := cutOption(value)
		if !ok {
			return &sentence{text: "rsh: option -o " + value + " has no value"}
		}
		switch strings.ToLower(key) {
		case "user":
			r.User = val
		case "stdinnull":
			r.NoStdin = strings.EqualFold(val, "yes")
		case "remotecommand":
			if !strings.EqualFold(val, "none") {
				r.remote = val
			}
		}
	}
	return nil
}

// cutOption splits "Key=value", "Key value" and "Key = value" (ssh_config(5)).
func cutOption(s string) (key, value string, ok bool) {
	s = strings.TrimSpace(s)
	i := strings.IndexAny(s, "= \t")
	if i <= 0 {
		return "", "", false
	}
	value = strings.TrimLeft(s[i:], " \t")
	value = strings.TrimLeft(strings.TrimPrefix(value, "="), " \t")
	return s[:i], value, value != ""
}

// host parses [user@]host. An IPv6 address may be in brackets; only a URL may have a port. As in
// ssh the last @ separates the user, and a host must not look like an option.
func (r *line) host(s string) error {
	s, url := strings.CutPrefix(s, "ssh://")
	if url {
		s = strings.TrimSuffix(s, "/")
		if i := strings.LastIndexByte(s, ':'); i >= 0 && strings.Trim(s[i+1:], "0123456789") == "" {
			s = s[:i]
		}
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		if i > 0 {
			r.User = s[:i]
		}
		s = s[i+1:]
	}
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		s = s[1 : len(s)-1]
	}
	if s == "" || s[0] == '-' {
		return &sentence{text: "rsh: " + quoted(s) + " is not a host name"}
	}
	r.Host = s
	return nil
}

func quoted(s string) string { return `"` + s + `"` }

// sentence is an error for the user, with an optional hint.
type sentence struct{ text, tip string }

func (s *sentence) Error() string { return s.text }

// Hint returns what to do, or "".
func (s *sentence) Hint() string { return s.tip }

// NoLauncher returns the error for a call without a broker. where names the socket, or the places
// that were searched.
func NoLauncher(where string) error {
	return &sentence{
		text: "rsh: no launcher runs here (" + where + ")",
		tip:  "call it in the pod of the launcher, from the command of `agent run` or as the same user",
	}
}
