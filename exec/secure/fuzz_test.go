package secure

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzKeys(f *testing.F) {
	k := NewLauncherKey()
	f.Add(k.Text())
	f.Add(k.Worker().Text())
	f.Add(launcherPrefix + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		if k, err := ParseLauncherKey(text); err == nil {
			require.Contains(t, []string{text, text + "\n"}, k.Text(), "a key has one form")
		}
		if k, err := ParseWorkerKey(text); err == nil {
			require.Contains(t, []string{text, text + "\n"}, k.Text(), "a key has one form")
		}
	})
}

func FuzzClaim(f *testing.F) {
	b, err := Claim{Job: "pi", Epoch: epoch, Worker: "w-1", UID: "u"}.encode()
	require.NoError(f, err)
	f.Add(b)
	a, err := Answer{Worker: "w-1", UID: "u", Instance: "i"}.encode()
	require.NoError(f, err)
	f.Add(a)
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := parseClaim(b); err == nil {
			again, err := c.encode()
			require.NoError(t, err)
			require.Equal(t, b, again, "a claim has one form")
		}
		if a, err := parseAnswer(b); err == nil {
			again, err := a.encode()
			require.NoError(t, err)
			require.Equal(t, b, again, "an answer has one form")
		}
	})
}

// FuzzAdmit gives a guard any bytes. None of them is a launcher's proof.
func FuzzAdmit(f *testing.F) {
	e := newEnds(f)
	s := &scripted{}
	_, _, _ = e.launcher.Prove(s, "w-1", "uid-1")
	f.Add(s.wrote)
	f.Add(append(append([]byte(nil), s.wrote...), 0, 16))
	f.Add([]byte(preface))
	f.Add(append([]byte(preface), 0xff, 0xff))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, _, err := e.guard.Admit(&scripted{reads: b})
		require.Error(t, err)
		require.Nil(t, c)
	})
}

// FuzzRecords gives an opened connection any bytes. It delivers none of them.
func FuzzRecords(f *testing.F) {
	near, far := net.Pipe()
	_, worker := pair(f, near, far)
	f.Add([]byte{0, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	f.Add([]byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		c := newConn(&scripted{reads: b}, worker.in, worker.out, nil)
		got, err := io.ReadAll(c)
		require.Empty(t, got)
		if len(b) > 0 {
			require.True(t, errors.Is(err, ErrRecord) || errors.Is(err, io.ErrUnexpectedEOF), "%v", err)
		}
	})
}

// scripted is a connection that has these bytes to read, and takes what is written.
type scripted struct {
	net.Conn
	reads, wrote []byte
}

func (s *scripted) Read(p []byte) (int, error) {
	if len(s.reads) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.reads)
	s.reads = s.reads[n:]
	return n, nil
}

func (s *scripted) Write(p []byte) (int, error) {
	s.wrote = append(s.wrote, p...)
	return len(p), nil
}
