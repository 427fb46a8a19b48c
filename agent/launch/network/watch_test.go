package network

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/rendezvous"
)

const (
	sockets = "w3-host:1482:1482 [0] NCCL INFO NET/IB : No device found.\nw3-host:1482:1482 [0] NCCL INFO Using network Socket\n"
	rdma    = "w1:7:19 [0] NCCL INFO Using network IB\n"
)

// workers returns w1, w2 and w3. Their pods ask for RDMA devices if asks says so.
func workers(asks ...bool) (all []rendezvous.Worker) {
	for i, rdma := range asks {
		name := "w" + string(rune('1'+i))
		w := rendezvous.Worker{Name: name, Hostname: name + "-host.example.com"}
		if rdma {
			w.RDMA = 1
		}
		all = append(all, w)
	}
	return all
}

// TestWhoAskedForRDMA checks which runs are watched, and on which workers sockets are a fallback.
func TestWhoAskedForRDMA(t *testing.T) {
	for name, tc := range map[string]struct {
		asks     []bool
		required bool
		watched  bool
		found    bool // for worker w3
	}{
		"nobody":                 {asks: []bool{false, false, false}},
		"the pods":               {asks: []bool{true, true, true}, watched: true, found: true},
		"other pods":             {asks: []bool{true, true, false}, watched: true},
		"the user":               {asks: []bool{false, false, false}, required: true, watched: true, found: true},
		"a single worker":        {asks: []bool{true}},
		"the user, for a single": {asks: []bool{false}, required: true},
	} {
		w := New(workers(tc.asks...), tc.required)
		require.Equal(t, tc.watched, w != nil, name)
		_, err := io.WriteString(w.Mixed(), rdma+sockets)
		require.NoError(t, err)
		f, found := w.Fallback()
		require.Equal(t, tc.found, found, name)
		require.Len(t, w.Told(), len(f.Worker)/2, name)
		if found {
			require.Equal(t, Fallback{"w3", "NET/Socket", "NET/IB : No device found."}, f, name)
			require.Equal(t, "NCCL fell back to sockets on w3 (NET/Socket); asked for RDMA", f.Sentence())
			require.Contains(t, f.Hint(), "NCCL printed: NET/IB : No device found; ")
		}
	}
}

// TestStreamsPassUnchanged checks that a process's output passes through, and that the worker is the
// process's, whatever host NCCL prints.
func TestStreamsPassUnchanged(t *testing.T) {
	w := New(workers(true, true, true), false)
	var out bytes.Buffer
	h := w.Hear("w2", closing{&out})
	text := "step 1\n" + sockets + "the end"
	for _, piece := range []string{text[:30], text[30:]} {
		n, err := h.Write([]byte(piece))
		require.NoError(t, err)
		require.Equal(t, len(piece), n)
	}
	require.NoError(t, h.Close())
	require.Equal(t, text+"closed", out.String())
	f, _ := w.Fallback()
	require.Equal(t, "w2", f.Worker)
	<-w.Told()
	h = w.Hear("w3", nil) // a stream that is not shown
	_, err := io.WriteString(h, sockets)
	require.NoError(t, err)
	require.NoError(t, h.Close())
	require.Empty(t, w.Told(), "only the first fallback is told")
	f, _ = w.Fallback()
	require.Equal(t, "w2", f.Worker)
}

// TestUnchecked checks when --require-rdma could not be checked.
func TestUnchecked(t *testing.T) {
	w := New(workers(false, false), true)
	require.True(t, w.Must())
	require.True(t, w.Unchecked())
	_, err := io.WriteString(w.Mixed(), rdma)
	require.NoError(t, err)
	require.False(t, w.Unchecked())
	require.False(t, New(workers(true, true), false).Unchecked(), "the run does not depend on RDMA")
	require.Equal(t, "unknown", w.workerOf("unknown"), "a host that is no worker's keeps its name")

	var none *Watch
	require.False(t, none.Must() || none.Unchecked())
	require.Nil(t, none.Told())
	require.Equal(t, closing{}, none.Hear("w1", closing{}))
}

// closing writes "closed" when it is closed.
type closing struct{ *bytes.Buffer }

func (c closing) Close() error {
	_, err := c.WriteString("closed")
	return err
}
