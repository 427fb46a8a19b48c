package link

import (
	"context"
	"errors"

	"github.com/musterhq/muster/exec/wire"
)

// ErrNoChecks says that the worker's agent is too old to be checked.
var ErrNoChecks = errors.New("the agent of the worker is too old to be checked")

// Facts asks the worker about its container and node. Errors are those of Ask, with ErrNoChecks
// instead of ErrNoAnswers.
func (l *Link) Facts(ctx context.Context, ask wire.AskFactsRecord) (wire.FactsRecord, error) {
	answer, err := l.question(ctx, wire.AskRecord{Facts: &ask}, checks)
	switch {
	case err != nil:
		return wire.FactsRecord{}, err
	case answer.Facts == nil:
		return wire.FactsRecord{}, errors.New("the worker answered another question")
	}
	return *answer.Facts, nil
}

// Listen makes the worker listen for its peers, and returns the port. Errors are those of Facts, or
// say why the worker cannot listen.
func (l *Link) Listen(ctx context.Context, ask wire.AskListenRecord) (port int, err error) {
	answer, err := l.question(ctx, wire.AskRecord{Listen: &ask}, checks)
	switch {
	case err != nil:
		return 0, err
	case answer.Port == 0:
		return 0, errors.New(answer.Error)
	}
	return answer.Port, nil
}

// Dial makes the worker connect to peers, and returns what it found out about each. Errors are
// those of Facts.
func (l *Link) Dial(ctx context.Context, ask wire.AskDialRecord) ([]wire.PairRecord, error) {
	answer, err := l.question(ctx, wire.AskRecord{Dial: &ask}, checks)
	if err != nil {
		return nil, err
	}
	return answer.Pairs, nil
}

func checks(w *wire.WelcomeRecord) error {
	if !w.Checks {
		return ErrNoChecks
	}
	return nil
}
