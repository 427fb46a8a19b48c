package check

import (
	"fmt"

	"github.com/musterhq/muster/agent/failure"
)

var commandTable = []Check{
	{"command", OfWorker, "The user's own check of a worker succeeds.", "--preflight-command", "replace the worker, or correct the command"},
	{"group-command", OfAll, "The user's own check of all workers together succeeds.", "--preflight-group-command", "replace the worker, or correct the command"},
}

// OfCommand judges the user's check of one worker. exit says how it ended, "" for 0. last is its
// last line. err says why its end is not known, or, if late, that it took too long.
func OfCommand(worker, node, exit, last string, err error, late bool) Finding {
	f := Finding{Check: "command", Of: worker, Node: node, Verdict: OK, Found: "--preflight-command succeeded"}
	switch {
	case late:
		f.Verdict, f.Found = Fail, fmt.Sprintf("--preflight-command: %v", err)
	case err != nil:
		f.Verdict, f.Found = Unknown, fmt.Sprintf("--preflight-command: %v", err)
	case exit != "":
		f.Verdict, f.Found = Fail, "--preflight-command "+exit
	default:
		return f
	}
	f.Worker, f.Remedy, f.Found = worker, remedy("command"), withLast(f.Found, last)
	return f
}

// OfGroup judges the user's check of all workers. cause says how the first process failed; "" if
// none did. worker is where that was.
func OfGroup(worker, node, cause, last string) Finding {
	f := Finding{Check: "group-command", Verdict: OK, Found: "--preflight-group-command succeeded"}
	if cause != "" {
		f.Of, f.Node, f.Worker, f.Verdict, f.Remedy = worker, node, worker, Fail, remedy("group-command")
		f.Found = withLast("--preflight-group-command: "+cause, last)
	}
	return f
}

func withLast(text, last string) string {
	if last == "" {
		return text
	}
	return text + ": " + failure.Visible(last)
}
