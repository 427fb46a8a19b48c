//go:build linux

package session

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// linked returns a server that cannot start processes, and the launcher's end of its link.
func linked(t *testing.T, sessions int) (*Server, *net.UnixConn) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	reaper := reap.New()
	require.NoError(t, reaper.Run(ended))
	s := New(Config{Reaper: reaper, Log: slog.New(slog.DiscardHandler), Dir: "/"})
	for i := range sessions {
		id := fmt.Sprintf("%032d", i)
		s.sessions[id] = s.newSession(wire.OpenRecord{ID: id})
	}
	ours, theirs := pair(t)
	ctx, stop := context.WithCancel(context.Background())
	s.wg.Go(func() { s.serveConn(ctx, ours) })
	t.Cleanup(func() {
		theirs.Close()
		stop()
		s.abandon()
		s.wg.Wait()
	})
	require.NoError(t, theirs.SetDeadline(time.Now().Add(20*time.Second)))
	return s, theirs
}

func send(t *testing.T, c net.Conn, typ wire.Type, channel uint32, rec any) {
	f, err := wire.Record(typ, channel, rec)
	require.NoError(t, err)
	b, err := wire.Append(nil, f)
	require.NoError(t, err)
	_, err = c.Write(b)
	require.NoError(t, err)
}

func hello(t *testing.T, c net.Conn) {
	send(t, c, wire.Hello, 0, wire.HelloRecord{ProtoMin: wire.ProtoMin, ProtoMax: wire.ProtoMax, LeaseSeconds: 60, Epoch: wire.Epoch{UID: "a"}})
}

// next reads frames until the first frame of type typ.
func next(t *testing.T, r *wire.Reader, typ wire.Type, rec any) {
	for {
		f, err := r.Next()
		require.NoError(t, err)
		if f.Type == typ {
			require.NoError(t, f.Decode(rec))
			return
		}
	}
}

// TestLongErrorsFitTheirRecord checks that a long error is cut. An error too long for a frame would
// end this connection and each later one.
func TestLongErrorsFitTheirRecord(t *testing.T) {
	_, c := linked(t, 0)
	hello(t, c)
	r := wire.NewReader(c)
	spec := wire.Spec{Argv: []string{strings.Repeat("n", 100<<10)}, Env: []string{"PATH=/" + strings.Repeat("p", 100<<10)}}
	send(t, c, wire.Open, 1, wire.OpenRecord{ID: "s", Hash: spec.Hash(), Spec: &spec})
	var rec wire.ExitRecord
	next(t, r, wire.Exit, &rec)
	require.Equal(t, 127, rec.Code)
	require.True(t, strings.HasPrefix(rec.Error, "start nnn"))
	require.Less(t, len(rec.Error), 5<<10)
}

// TestLongPathFitsFacts checks that an answer about the worker does not contain a long PATH.
func TestLongPathFitsFacts(t *testing.T) {
	s, c := linked(t, 0)
	s.cfg.Env = []string{"PATH=/" + strings.Repeat("p", 100<<10)}
	hello(t, c)
	send(t, c, wire.Ask, 0, wire.AskRecord{Seq: 1, Facts: &wire.AskFactsRecord{Command: "none"}})
	var rec wire.AnswerRecord
	next(t, wire.NewReader(c), wire.Answer, &rec)
	require.True(t, strings.HasPrefix(rec.Facts.ProgramError, "start none"))
	require.Less(t, len(rec.Facts.ProgramError), 5<<10)
}

func TestManySessionsFitAWelcome(t *testing.T) {
	_, c := linked(t, 5000)
	hello(t, c)
	var w wire.WelcomeRecord
	next(t, wire.NewReader(c), wire.Welcome, &w)
	require.Greater(t, len(w.Sessions), 100)
	_, c = linked(t, 50)
	hello(t, c)
	next(t, wire.NewReader(c), wire.Welcome, &w)
	require.Len(t, w.Sessions, 50)
}

func TestInvalidIDsAreRefused(t *testing.T) {
	for _, id := range []string{"", "a b", "a\x00b", "a\nb", "ä", strings.Repeat("x", longestID+1)} {
		require.False(t, validID(id), "%q", id)
	}
	for _, id := range []string{"s", wire.NewID(), strings.Repeat("x", longestID)} {
		require.True(t, validID(id), "%q", id)
	}
}

// TestUnreadAnswersAreBounded checks that a launcher that keeps sending requests and never reads is
// disconnected.
func TestUnreadAnswersAreBounded(t *testing.T) {
	_, c := linked(t, 0)
	hello(t, c)
	ping, err := wire.Append(nil, wire.Frame{Type: wire.Ping})
	require.NoError(t, err)
	many := []byte(strings.Repeat(string(ping), 1000))
	for range 1000 {
		if _, err = c.Write(many); err != nil {
			break
		}
	}
	require.Error(t, err, "a million pings were accepted")
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the launcher was not disconnected")
}

// TestManyAddressesFitAWelcome checks a worker in its node's network: it sees the interfaces of all
// pods, and the interface of IPVS with the address of each Service.
func TestManyAddressesFitAWelcome(t *testing.T) {
	var list []net.Addr
	var many []string
	for i := range 5000 {
		ip := net.ParseIP(fmt.Sprintf("fd00:1234:5678:9abc:def0:1234:5678:%x", 0x1000+i))
		list, many = append(list, &net.IPNet{IP: ip}), append(many, ip.String())
	}
	w := wire.WelcomeRecord{Addresses: own(list)}
	require.Equal(t, many[:mostAddresses], w.Addresses)
	all := []wire.Interface{{Name: "eth0", Addresses: many[:1]}}
	for i := range 100 {
		all = append(all, wire.Interface{Name: fmt.Sprintf("kube-ipvs-%05d", i), Addresses: many})
	}
	all = append(all, wire.Interface{Name: "ib0", Addresses: many[:1]})
	w.Interfaces = fitting(all)
	require.Equal(t, all[0], w.Interfaces[0])
	require.Greater(t, len(w.Interfaces), 10)
	text, err := json.Marshal(w)
	require.NoError(t, err)
	require.Less(t, len(text), wire.MaxRecord/5, "the rest is for variables and sessions")

	ordinary := slices.Repeat([]wire.Interface{{Name: "veth0123456789a", Addresses: []string{"10.0.0.1", "fd00::1"}}}, 2*mostInterfaces)
	require.Len(t, fitting(ordinary), mostInterfaces)
}

// TestAskedRanksFitARecord checks ranks with numbers that JSON escapes, in an answer and in an exit
// record.
func TestAskedRanksFitARecord(t *testing.T) {
	for name, row := range map[string]struct {
		rank string
		want int
	}{
		"numbers":            {"123456", mostEnded},
		"control characters": {strings.Repeat("\x01", reap.LongestNumber), 300},
	} {
		t.Run(name, func(t *testing.T) {
			outcomes := make([]reap.Outcome, 2*mostEnded)
			ranks := make([]reap.Proc, len(outcomes))
			for i := range outcomes {
				outcomes[i] = reap.Outcome{Rank: row.rank, After: time.Hour, Killed: true}
				ranks[i].Numbers[0] = row.rank
			}
			answer := livingRanks(ranks)
			_, err := wire.Record(wire.Answer, 0, wire.AnswerRecord{Seq: 1, Ranks: &answer})
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(answer.Ranks), row.want)

			x := &session{srv: &Server{}, asked: []wire.EndingRank{{Rank: "before"}}}
			x.noteAsked(outcomes)
			_, err = wire.Record(wire.Exit, 1, wire.ExitRecord{Reason: wire.ReasonStopped, Asked: x.asked})
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(x.asked), row.want)
		})
	}
}
