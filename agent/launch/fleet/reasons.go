package fleet

import (
	"errors"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/rendezvous"
)

// reasonOf converts the error of a link to a reason for the wait. w is the worker, and agent is the
// path of its agent. err may be nil if nothing has failed yet.
func reasonOf(w rendezvous.Worker, agent string, err error) rendezvous.Reason {
	if err == nil {
		return rendezvous.ConnectingTo(w.Name)
	}
	cause := CauseOf(err)
	switch KindOf(err) {
	case link.Unauthorized:
		return rendezvous.LinkUnauthorized(w.Name, cause)
	case link.Forbidden:
		return rendezvous.LinkForbidden(w.Name, w.Namespace, cause)
	case link.AgentMissing:
		return rendezvous.LinkNoAgent(w.Name, w.Container, agent, cause)
	case link.NoWorker:
		return rendezvous.LinkNoWorker(w.Name, w.Container, cause)
	case link.Incompatible:
		return permanent(w, rendezvous.Incompatible, cause, "use images whose agents are at most two minor releases apart")
	case link.Superseded:
		return permanent(w, rendezvous.Superseded, cause, "two launchers run for one job: end one of them, or give them different jobs")
	case link.Barred:
		return permanent(w, rendezvous.Barred, cause, "start the launcher outside of its workers, in a pod of its own")
	case link.OtherJob:
		return permanent(w, rendezvous.OtherJob, cause, "--selector picks pods of another job; narrow it")
	case link.Ending, link.Gone, link.Expired, link.NotFound, link.Unknown:
		// The pod's status will soon explain it better, and a replacement may come.
		return rendezvous.Reason{Code: rendezvous.NotReady, Pod: w.Name, Brief: cause,
			Sentence: w.Name + ": " + cause, Hint: "kubectl describe pod " + w.Name + " shows more"}
	}
	return rendezvous.LinkUnreachable(w.Name, cause)
}

func permanent(w rendezvous.Worker, code rendezvous.Code, cause, hint string) rendezvous.Reason {
	return rendezvous.Reason{Code: code, Pod: w.Name, Brief: string(code) + ": " + cause,
		Sentence: w.Name + ": " + cause, Hint: hint, Permanent: true}
}

// KindOf returns the kind of a link's error, or Dropped if it has none.
func KindOf(err error) link.Kind {
	var lost *link.LostError
	if errors.As(err, &lost) {
		return lost.Kind
	}
	var dial *link.DialError
	if errors.As(err, &dial) {
		return dial.Kind
	}
	return link.Dropped
}

// CauseOf returns the error without the words "worker W lost", which our messages say themselves.
func CauseOf(err error) string {
	var lost *link.LostError
	if errors.As(err, &lost) && lost.Err != nil {
		return lost.Err.Error()
	}
	return err.Error()
}

// CauseOfLost reports whether the error is that of a lost worker.
func CauseOfLost(err error) bool {
	var lost *link.LostError
	return errors.As(err, &lost)
}
