package broker

import (
	"context"
	"errors"
	"strings"
	"syscall"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rsh"
	"github.com/musterhq/muster/exec/shortage"
	"github.com/musterhq/muster/exec/wire"
)

// reply converts the end of a session to what the stub prints and exits with.
func reply(worker string, exit wire.ExitRecord, err error) rsh.Reply {
	switch {
	case errors.Is(err, context.Canceled):
		return rsh.Reply{Code: names.ExitTransport, Lines: []string{about(worker, "the launcher ended before the command did")}}
	case err != nil:
		return rsh.Reply{Code: names.ExitTransport, Lines: sentences(about(worker, err.Error()), err)}
	case exit.Code < 0 || exit.Code > 255:
		return rsh.Reply{Code: names.ExitTransport, Lines: []string{about(worker, "the command ended without an exit code")}}
	}
	r := rsh.Reply{Code: exit.Code}
	switch {
	case exit.Error != "":
		r.Lines = []string{about(worker, exit.Error)}
	case exit.Reason != "" && exit.Code != 0:
		// Otherwise mpirun prints "exited with 143", without the worker.
		r.Lines = []string{about(worker, "the command was ended: "+exit.Reason)}
	}
	return r
}

// unprinted returns the reply if output could not be written to the stub's descriptors. A command
// that failed because of that, or did not notice, has not failed by itself.
func unprinted(r rsh.Reply, err error) rsh.Reply {
	if err == nil {
		return r
	}
	if r.Code == 0 || r.Code == 128+int(syscall.SIGPIPE) {
		r.Code = names.ExitOutput
	}
	if len(r.Lines) == 0 {
		r.Lines = []string{""}
	}
	r.Lines[0] = strings.TrimSuffix(err.Error()+"; "+r.Lines[0], "; ")
	return r
}

// about adds the worker's name before a sentence that does not contain it yet.
func about(worker, text string) string {
	rest, named := strings.CutPrefix(text, "worker "+worker)
	if named && rest != "" && (rest[0] == ':' || rest[0] == ' ') {
		return text
	}
	return "worker " + worker + ": " + text
}

// sentences returns text, and the hint in err.
func sentences(text string, err error) []string {
	if way := shortage.Way(err); way != "" {
		return []string{text, way}
	}
	return []string{text}
}
