package shortage

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// script is a listener that answers each Accept with the next of its errors; nil is a connection.
// After the last error, Accept waits until the listener is closed.
type script struct {
	net.Listener
	errs   []error
	closed chan struct{}
	asked  int
}

func (s *script) Accept() (net.Conn, error) {
	if s.asked == len(s.errs) {
		<-s.closed
		return nil, net.ErrClosed
	}
	err := s.errs[s.asked]
	s.asked++
	if err != nil {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
	}
	ours, theirs := net.Pipe()
	theirs.Close()
	return ours, nil
}

// play runs Accept against errs. It returns the number of connections that arrived, the errors that
// Accept reported, the time until the last of errs, and the error of Accept.
func play(t *testing.T, errs ...error) (taken int, told []error, took time.Duration, err error) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := &script{errs: errs, closed: make(chan struct{})}
		stop := context.AfterFunc(ctx, func() { close(l.closed) })
		defer stop()
		began, done := time.Now(), make(chan struct{})
		go func() {
			defer close(done)
			err = Accept(ctx, l, func(c net.Conn) { c.Close(); taken++ }, func(err error) { told = append(told, err) })
			took = time.Since(began)
		}()
		time.Sleep(time.Hour)
		cancel()
		<-done
	})
	return taken, told, took, err
}

func TestAcceptContinuesAfterShortage(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.ECONNABORTED,
		syscall.EINTR, syscall.EAGAIN, syscall.ENOSPC} {
		taken, told, _, err := play(t, nil, errno, errno, nil, nil, errno, nil)
		require.NoError(t, err, errno)
		require.Equal(t, 4, taken, errno)
		require.Len(t, told, 4, "each series of errors and its end are reported once")
		require.ErrorIs(t, told[0], errno)
		require.NoError(t, told[1])
	}
}

func TestAcceptEndsAfterAFault(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EBADF, syscall.EINVAL, syscall.ENOTSOCK, syscall.EIO} {
		taken, told, took, err := play(t, nil, errno, nil)
		require.ErrorIs(t, err, errno)
		require.Equal(t, 1, taken)
		require.Empty(t, told)
		require.Zero(t, took)
	}
}

func TestAcceptPausesBetweenErrors(t *testing.T) {
	errs := make([]error, 100)
	for i := range errs {
		errs[i] = syscall.EMFILE
	}
	_, _, took, err := play(t, append(errs, syscall.EBADF)...)
	require.ErrorIs(t, err, syscall.EBADF)
	require.Greater(t, took, 80*time.Second)
	require.Less(t, took, 100*lastPause)
}

// withheld is a listener whose poller has lost a connection. It returns an error on the second
// Accept.
type withheld struct {
	net.Listener
	deadline time.Time
	asked    int
}

func (w *withheld) SetDeadline(t time.Time) error { w.deadline = t; return nil }

func (w *withheld) Accept() (net.Conn, error) {
	if w.asked++; w.asked == 1 {
		time.Sleep(time.Until(w.deadline))
		return nil, os.ErrDeadlineExceeded
	}
	return nil, errors.New("second Accept")
}

func TestAcceptPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := Accept(t.Context(), &withheld{}, nil, nil)
		require.ErrorContains(t, err, "second Accept")
		require.Equal(t, lookAgain, time.Since(began))
	})
}

func TestHints(t *testing.T) {
	wrapped := &net.OpError{Op: "socket", Err: os.NewSyscallError("socket", syscall.EMFILE)}
	require.Contains(t, Hint(wrapped), "ulimit -n")
	require.Contains(t, Hint(&os.PathError{Op: "open", Path: "/x", Err: syscall.ENOSPC}), "df -h")
	require.Empty(t, Hint(syscall.EACCES))
	require.Empty(t, Hint(nil))
	require.False(t, Passes(errors.New("no errno")))
}

func TestHintInASentence(t *testing.T) {
	require.Equal(t, Hint(syscall.EAGAIN), HintIn("start /bin/sh: "+syscall.EAGAIN.Error()))
	require.Equal(t, Hint(syscall.EMFILE), HintIn("pipe2: "+syscall.EMFILE.Error()))
	require.Empty(t, HintIn("x: not found in PATH"))
	require.Empty(t, HintIn("start /bin/sh: "+syscall.EACCES.Error()))
	require.Empty(t, HintIn(""))
}

// hinted is an error with a hint about its usual cause.
type hinted struct{ error }

func (hinted) Hint() string    { return "the usual hint" }
func (h hinted) Unwrap() error { return h.error }

func TestWay(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("other"), ""},
		{hinted{syscall.EACCES}, "the usual hint"},
		{hinted{syscall.EMFILE}, "raise the limit of open files: ulimit -n 65536"},
		{errors.Join(syscall.ENOENT, hinted{errors.Join(syscall.ENFILE)}), Hint(syscall.ENFILE)},
		{hinted{syscall.ENOMEM}, Hint(syscall.ENOMEM)},
		{hinted{syscall.ENOSPC}, "the usual hint"}, // the error has a more specific hint
		{syscall.ENOSPC, Hint(syscall.ENOSPC)},
	} {
		require.Equal(t, c.want, Way(c.err), "%v", c.err)
	}
}
