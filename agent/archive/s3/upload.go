package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Upload is the copying of one run.
type Upload struct {
	Store Store
	Dir   string // of the run, as package archive writes it
	// Rest bounds the time to copy the rest when the run has ended.
	Rest time.Duration
	// Say is told when copying fails for the first time, and with nil when it works again. It may be told again
	// about a later failure, but not more often than every sayEvery.
	Say func(error)

	failing bool
	said    time.Time // when a failure was said
}

const (
	// lookEvery is how often a Mirror is tried again that could not begin, or could not copy the rest.
	lookEvery = time.Second
	// sayEvery bounds the messages about a store that fails now and then.
	sayEvery = 10 * time.Minute
)

// LeftError reports that a run has ended and not all of its output is in the store.
type LeftError struct {
	Files int
	Bytes int64
	Err   error
}

func (e *LeftError) Error() string {
	return fmt.Sprintf("%d bytes of %d files were not copied: %v", e.Bytes, e.Files, e.Err)
}

// Unwrap returns the cause.
func (e *LeftError) Unwrap() error { return e.Err }

// Run copies what the run writes until ended is closed, and then the rest. It returns nil if everything is in the
// store, or a *LeftError. A directory without an index is a run that has written nothing.
func (u *Upload) Run(ctx context.Context, ended <-chan struct{}) error {
	going, stop := context.WithCancel(ctx)
	defer stop()
	watching := make(chan struct{})
	defer func() { stop(); <-watching }()
	go func() {
		defer close(watching)
		select {
		case <-ended:
			stop()
		case <-going.Done():
		}
	}()
	m := u.begin(going)
	if m != nil {
		m.Run(going, u.failed, u.worked)
	}
	rest, cancel := context.WithTimeout(ctx, u.Rest)
	defer cancel()
	return u.finish(rest, m)
}

// begin returns the mirror of the run, or nil if going ends before there is one.
func (u *Upload) begin(going context.Context) *Mirror {
	for {
		m, err := NewMirror(going, u.Store, u.Dir)
		if err == nil {
			u.worked()
			return m
		}
		if going.Err() == nil && !errors.Is(err, fs.ErrNotExist) {
			u.failed(err)
		}
		if !pause(going, lookEvery) {
			return nil
		}
	}
}

// finish copies the rest until ctx ends.
func (u *Upload) finish(ctx context.Context, m *Mirror) (err error) {
	for left := error(nil); ; {
		if m == nil {
			if m, err = NewMirror(ctx, u.Store, u.Dir); errors.Is(err, fs.ErrNotExist) {
				return nil
			}
		}
		if m != nil {
			if err = m.Pass(ctx, true); err == nil {
				return m.index.Close()
			}
		}
		if left == nil || ctx.Err() == nil {
			left = err // the last one may only say that ctx has ended
		}
		if IsLasting(err) || !pause(ctx, lookEvery) {
			return u.left(m, left)
		}
	}
}

// left closes a mirror that could not copy the rest.
func (u *Upload) left(m *Mirror, err error) error {
	if m == nil {
		return &LeftError{Err: err}
	}
	files, bytes := m.Left()
	return errors.Join(&LeftError{files, bytes, err}, m.index.Close())
}

// failed says that copying fails, unless that has been said.
func (u *Upload) failed(err error) {
	if !u.failing && (u.said.IsZero() || time.Since(u.said) >= sayEvery) {
		u.failing, u.said = true, time.Now()
		u.Say(err)
	}
}

// worked says that copying works, if a failure has been said.
func (u *Upload) worked() {
	if u.failing {
		u.failing = false
		u.Say(nil)
	}
}

// pause waits for a time, and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
