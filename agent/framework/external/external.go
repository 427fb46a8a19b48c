package external

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/framework"
)

// Prefix begins the name of a framework that is a plugin: plugin:NAME.
const Prefix = "plugin:"

// Program is one --plugin: NAME=/abs/path@sha256:HEX.
type Program struct {
	Name string            // as in --framework plugin:NAME
	Path string            // absolute
	Sum  [sha256.Size]byte // of the file
}

// Parse reads a --plugin flag. It returns an error if the text is not NAME=PATH@sha256:HEX, if the
// path is not absolute, or if the name has characters other than letters, digits, '-', '_' and '.'.
func Parse(text string) (Program, error) {
	name, rest, ok := strings.Cut(text, "=")
	at := strings.LastIndex(rest, "@sha256:") // the path may contain it too
	if !ok || at < 0 {
		return Program{}, fmt.Errorf("--plugin=%s is not NAME=/path@sha256:HEX", text)
	}
	p := Program{Name: name, Path: rest[:at]}
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
		return Program{}, fmt.Errorf("--plugin=%s: %q is not a name, want letters, digits, '-', '_' and '.'", text, name)
	}
	if !filepath.IsAbs(p.Path) {
		return Program{}, fmt.Errorf("--plugin %s: path %q is not absolute", name, p.Path)
	}
	sum, err := hex.DecodeString(rest[at+len("@sha256:"):])
	if err != nil || len(sum) != len(p.Sum) {
		return Program{}, fmt.Errorf("--plugin %s: %q is not a SHA-256 sum, want 64 hexadecimal digits as sha256sum prints them", name, rest[at+len("@sha256:"):])
	}
	copy(p.Sum[:], sum)
	return p, nil
}

// Find reads the --plugin flags and returns the program of that name. It returns the errors of
// Parse for any of the flags, and an error if the name is missing or given twice.
func Find(flags []string, name string) (Program, error) {
	var found *Program
	var there []string
	for _, text := range flags {
		p, err := Parse(text)
		if err != nil {
			return Program{}, err
		}
		if p.Name == name && found != nil {
			return Program{}, fmt.Errorf("--plugin %s is given twice", name)
		}
		if p.Name == name {
			found = &p
		}
		there = append(there, p.Name)
	}
	if found != nil {
		return *found, nil
	}
	if there == nil {
		return Program{}, fmt.Errorf("--framework=%s%s: no --plugin has this name", Prefix, name)
	}
	return Program{}, fmt.Errorf("--framework=%s%s: no --plugin has this name, want one of %s", Prefix, name, strings.Join(there, ", "))
}

// Config says what to open, and how.
type Config struct {
	Program
	Dir      string // a private directory; the socket gets its own directory in it
	Starter  Starter
	Log      *slog.Logger  // gets the plugin's standard error, at debug
	Patience time.Duration // limit for the start, and for each Prepare; 0: 5 s
}

// Plugin is a running program that prepares launches.
type Plugin interface {
	framework.Framework
	// Close ends the program and every process that it started, and waits for them.
	Close() error
}

// Opener starts a program and completes the handshake. If ctx ends first, it ends the program. If
// it returns an error, it leaves nothing behind.
type Opener func(context.Context, Config) (Plugin, error)

// Starter starts a plugin's process. In a launcher that is PID 1 it must be the owner of wait4.
type Starter interface {
	// Start starts the command and returns at once. If it returns an error, nothing was started.
	Start(Command) (Process, error)
}

// Command is what to start.
type Command struct {
	Path  string // executed as it is, without a search in PATH
	Argv  []string
	Env   []string   // the complete environment
	Files []*os.File // descriptors 0, 1, ...; the caller closes them
}

// Process is a process that a Starter started.
type Process interface {
	// Wait waits for the end of the process and returns its exit code, 128+n for signal n. It may
	// be called only once.
	Wait() int
	// Kill ends the process and everything that it started, and returns after they have ended. It
	// may be called again, and after the end.
	Kill() error
}
