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

// Prefix of a framework's name that stands for a plugin: plugin:NAME.
const Prefix = "plugin:"

// Program is one --plugin: NAME=/abs/path@sha256:HEX.
type Program struct {
	Name string            // what --framework plugin:NAME calls it
	Path string            // absolute
	Sum  [sha256.Size]byte // of the file
}

// Parse reads a --plugin flag. Errors: something else than
// NAME=PATH@sha256:HEX; a path that is not absolute; a name with other signs
// than letters, digits, '-', '_' and '.'.
func Parse(text string) (Program, error) {
	name, rest, ok := strings.Cut(text, "=")
	at := strings.LastIndex(rest, "@sha256:") // a path may have one of its own
	if !ok || at < 0 {
		return Program{}, fmt.Errorf("--plugin=%s is not NAME=/path@sha256:HEX", text)
	}
	p := Program{Name: name, Path: rest[:at]}
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
		return Program{}, fmt.Errorf("--plugin=%s: %q is no name: letters, digits, '-', '_' and '.'", text, name)
	}
	if !filepath.IsAbs(p.Path) {
		return Program{}, fmt.Errorf("--plugin %s: its path %q must be absolute", name, p.Path)
	}
	sum, err := hex.DecodeString(rest[at+len("@sha256:"):])
	if err != nil || len(sum) != len(p.Sum) {
		return Program{}, fmt.Errorf("--plugin %s: %q is no SHA-256: 64 hexadecimal digits, as sha256sum prints them", name, rest[at+len("@sha256:"):])
	}
	copy(p.Sum[:], sum)
	return p, nil
}

// Find reads the --plugin flags and returns the program of that name. Errors: as
// Parse, of any of them; a name that is given twice, or not at all.
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
		return Program{}, fmt.Errorf("--framework=%s%s: no --plugin says which program that is", Prefix, name)
	}
	return Program{}, fmt.Errorf("--framework=%s%s: --plugin names %s only", Prefix, name, strings.Join(there, ", "))
}

// Config says what to open, and how.
type Config struct {
	Program
	Dir      string // a private directory, in which one for its socket is made
	Starter  Starter
	Log      *slog.Logger  // its standard error, at debug
	Patience time.Duration // for start and Prepare, each; 0: 5 s
}

// Plugin is a program that runs and prepares launches.
type Plugin interface {
	framework.Framework
	// Close ends the program, with all that it started, and waits for it.
	Close() error
}

// Opener starts a program and shakes hands with it. When ctx ends before that,
// the program is ended. With an error nothing is left behind.
type Opener func(context.Context, Config) (Plugin, error)

// Starter starts a plugin's process. In a launcher that is PID 1 it has to be
// the owner of wait4.
type Starter interface {
	Start(Command) (Process, error)
}

// Command is what to start.
type Command struct {
	Path  string // to execute; not looked up in PATH
	Argv  []string
	Env   []string   // whole
	Files []*os.File // descriptors 0, 1, ...; the caller closes them
}

// Process is a process that a Starter started.
type Process interface {
	// Wait returns its exit code when it has ended, 128+n for signal n. It is
	// called once.
	Wait() int
	// Kill ends it and everything that it started, and returns when they have
	// ended. It may be called again, and after the end.
	Kill() error
}
