package barrier

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
)

func TestEveryMemberGetsTheSameTable(t *testing.T) {
	const size = 4
	h := serve(t, size, nil)
	var all []*player
	for _, rank := range []int{2, 0, 3} {
		all = append(all, join(t, h.address, card(rank, size), secret))
	}
	absent := h.missing(t, 3*tellEvery/2)
	require.Equal(t, []Absent{{1, "has not joined"}}, absent)
	eventually(t, "the others learn which member is missing", func() bool {
		o := all[0].last()
		return o.Phase == PhaseGather && len(o.Absent) == 1 && o.Absent[0].Rank == 1
	})
	all = append(all, join(t, h.address, card(1, size), secret)) // this member joins late
	table := h.gather(t)
	h.run(t, 0, table)
	for rank, c := range table {
		require.Equal(t, rank, c.Rank)
		require.Equal(t, "127.0.0.1", c.Address, "the address is that of the member's connection")
	}
	for _, p := range all {
		eventually(t, "run", func() bool { return p.last().Phase == PhaseRun })
		got, err := p.last().Table.Unpack()
		require.NoError(t, err)
		require.Equal(t, table, got)
	}
}

func TestRankZeroConnectsByAPipe(t *testing.T) {
	h := serve(t, 2, func(c *Config) { c.Instance = "i0" })
	join(t, h.address, card(1, 2), secret)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	joinBy(t, func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		h.Take(ctx, theirs)
		return ours, nil
	}, card(0, 2), secret)
	table := h.gather(t)
	require.Equal(t, "127.0.0.1", table[0].Address, "the address is the one that other members can reach")

	nc, err := net.Dial("tcp", h.address)
	require.NoError(t, err)
	require.Nil(t, Check(nc, []byte(secret), card(0, 2)), "the same rank 0 is no conflict")
	other := card(0, 2)
	other.Instance, other.Name = "another", "job-9"
	nc, err = net.Dial("tcp", h.address)
	require.NoError(t, err)
	refusal := Check(nc, []byte(secret), other)
	require.NotNil(t, refusal)
	require.Contains(t, refusal.Text, "two members have rank 0: job-0")
	require.Contains(t, refusal.Text, "and job-9")
	require.Len(t, h.gather(t), 2)
}

func TestTwoMembersWithOneRank(t *testing.T) {
	h := serve(t, 2, nil)
	first := join(t, h.address, card(1, 2), secret)
	eventually(t, "the first member has its seat", func() bool { return h.Seats()[1].Here })
	twin := card(1, 2)
	twin.Name, twin.Instance = "job-7", "twin"
	second := join(t, h.address, twin, secret)
	var refusal *Refusal
	require.ErrorAs(t, <-second.end, &refusal)
	require.Equal(t, names.ExitUsage, refusal.Code)
	require.Equal(t, "two members have rank 1: job-1 (127.0.0.1), which joined first, and job-7 (127.0.0.1)", refusal.Text)
	require.NotEmpty(t, refusal.Hint)
	require.Equal(t, "i1", h.Seats()[1].Card.Instance)
	eventually(t, "the first member learns which member is missing", func() bool { return len(h.missing(t, 50*time.Millisecond)) == 1 && first.last().Phase == PhaseGather })
	join(t, h.address, card(0, 2), secret)
	require.Equal(t, "i1", h.gather(t)[1].Instance)
}

// TestReplacementTakesOverTheRank checks that a replacement gets the rank of a member that has
// disconnected or does not answer.
func TestReplacementTakesOverTheRank(t *testing.T) {
	h := serve(t, 2, nil)
	join(t, h.address, card(0, 2), secret)
	gone := join(t, h.address, card(1, 2), secret)
	h.gather(t)
	h.Hand(1, "i1", []byte(`"of the old member"`))
	gone.leave()
	eventually(t, "the member has disconnected", func() bool { return !h.Seats()[1].Here })
	require.Regexp(t, "job-1 left 0s ago: (it closed its connection|its connection broke)", h.missing(t, 50*time.Millisecond)[0].Why)

	// The frozen member's connection is open, but the member does not answer.
	nc, err := net.Dial("tcp", h.address)
	require.NoError(t, err)
	defer nc.Close()
	frozen := card(1, 2)
	frozen.Instance = "frozen"
	_, err = introduce(nc, []byte(secret), frozen)
	require.NoError(t, err)
	eventually(t, "the frozen member has its seat", func() bool { return h.Seats()[1].Card.Instance == "frozen" })
	next := card(1, 2)
	next.Instance = "next"
	p := join(t, h.address, next, secret)
	require.Equal(t, "next", h.gather(t)[1].Instance)
	h.Hand(1, "frozen", []byte(`"lost"`))
	h.Hand(1, "next", []byte(`"mine"`))
	eventually(t, "work", func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.works) == 1 })
	require.Equal(t, []string{`"mine"`}, p.works)
}

func TestContradictions(t *testing.T) {
	mine := []Setting{{"framework", "torch"}, {"procs-per-worker", "2"}}
	h := serve(t, 3, func(c *Config) { c.Settings, c.Job = mine, "train" })
	for _, row := range []struct {
		change func(*Card)
		want   string
	}{
		{func(c *Card) { c.Size = 4 }, "rank 1 on job-1 has --workers=4, rank 0 on job-0 has --workers=3"},
		{func(c *Card) { c.Rank = 5 }, "job-1 has rank 5, but the job has only 3 members"},
		{func(c *Card) { c.Settings = []Setting{mine[0], {"procs-per-worker", "4"}} },
			"rank 1 on job-1 has --procs-per-worker=4, rank 0 on job-0 has --procs-per-worker=2"},
		{func(c *Card) { c.Job = "tune" }, `rank 1 on "job-1" belongs to job "tune", rank 0 on job-0 to job "train"`},
		{func(c *Card) { c.Settings = nil }, "rank 1 on job-1 has --framework=, rank 0 on job-0 has --framework=torch"},
	} {
		c := card(1, 3)
		c.Settings = mine
		row.change(&c)
		var refusal *Refusal
		require.ErrorAs(t, <-join(t, h.address, c, secret).end, &refusal)
		require.Equal(t, names.ExitUsage, refusal.Code)
		require.Equal(t, row.want, refusal.Text)
	}
	absent := h.missing(t, 50*time.Millisecond)
	require.Len(t, absent, 3)
	require.Contains(t, absent[1].Why, "has not joined; job-1 (127.0.0.1) was refused: rank 1 on job-1 has --workers=4")
}

// TestMembersOfOneJob checks that members without a job name, such as those of an older release,
// may join any job.
func TestMembersOfOneJob(t *testing.T) {
	for _, names := range [][3]string{{"train", "train", ""}, {"", "train", "train"}} {
		h := serve(t, 2, func(c *Config) { c.Job = names[0] })
		for rank := range 2 {
			c := card(rank, 2)
			c.Job = names[rank+1]
			join(t, h.address, c, secret)
		}
		for _, c := range h.gather(t) {
			require.Empty(t, c.Job, "the table does not contain the job name")
		}
	}
}

// TestACutIsNoLoss checks that members redial automatically, report their news, and receive what
// they missed.
func TestACutIsNoLoss(t *testing.T) {
	h := serve(t, 1, nil)
	cuts := &cutter{dial: dialer(h.address)}
	p := joinBy(t, cuts.connect, card(0, 1), secret)
	table := h.gather(t)
	for attempt := range 10 {
		cuts.cut()
		h.run(t, attempt, table)
		p.Report(News{Attempt: attempt, Work: []byte(`"done"`)})
		eventually(t, "both sides have the news", func() bool {
			return p.last().Attempt == attempt && h.Seats()[0].News.Attempt == attempt && string(h.Seats()[0].News.Work) == `"done"`
		})
		require.Equal(t, "i0", h.Seats()[0].Card.Instance)
	}
}

// cutter makes connections and can break the latest one.
type cutter struct {
	dial func(context.Context) (net.Conn, error)
	mu   sync.Mutex
	last net.Conn
}

func (c *cutter) connect(ctx context.Context) (net.Conn, error) {
	nc, err := c.dial(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = nc
	return nc, err
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last.Close()
}

// TestANewCoordinatorLearnsFromTheMembers replaces rank 0's pod during the barrier and during an
// attempt.
func TestANewCoordinatorLearnsFromTheMembers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	cfg := Config{Size: 3, Token: []byte(secret), Name: "job-0"}
	old := serveOn(t, cfg, l)
	one, two := join(t, address, card(1, 3), secret), join(t, address, card(2, 3), secret)
	eventually(t, "two members have their seats", func() bool { return old.Seats()[1].Here && old.Seats()[2].Here })
	old.close()
	one.Report(News{Attempt: 4, Port: 21000, Used: 2})

	l, err = net.Listen("tcp", address)
	require.NoError(t, err)
	h := serveOn(t, cfg, l)
	eventually(t, "both members have redialed", func() bool { return h.Seats()[1].Here && h.Seats()[2].Here && h.Seats()[1].News.Attempt == 4 })
	require.Equal(t, 21000, h.Seats()[1].News.Port)
	join(t, address, card(0, 3), secret)
	require.Contains(t, h.missing(t, 300*time.Millisecond)[0].Why, "job-1 is still stopping attempt 4")
	one.Report(News{Attempt: 4, Ready: true})
	require.Len(t, h.gather(t), 3)
	eventually(t, "the member was told that rank 0 was lost", func() bool { return two.lost() > 0 })
}

func TestLeaving(t *testing.T) {
	h := serve(t, 2, nil)
	join(t, h.address, card(0, 2), secret)
	p := join(t, h.address, card(1, 2), secret)
	h.gather(t)
	p.Report(News{Attempt: -1, Leaving: "its pod was told to stop by SIGTERM"})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p.Flush(ctx)
	require.NoError(t, ctx.Err())
	p.leave()
	eventually(t, "the member has disconnected", func() bool { return !h.Seats()[1].Here })
	require.Equal(t, "job-1 left 0s ago: its pod was told to stop by SIGTERM", h.missing(t, 50*time.Millisecond)[0].Why)
}

// TestLeavingAtOnce checks that the news of a member arrive although its owner, which was told to stop, reads no
// event any more.
func TestLeavingAtOnce(t *testing.T) {
	h := serve(t, 2, nil)
	m := NewMember(MemberConfig{Card: card(1, 2), Token: []byte(secret), Dial: dialer(h.address)})
	m.Report(News{Attempt: -1, Leaving: "its pod was told to stop by SIGTERM"})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	run := make(chan error, 1)
	go func() { run <- m.Run(ctx) }()
	m.Flush(ctx)
	require.NoError(t, ctx.Err())
	cancel()
	require.NoError(t, <-run)
	eventually(t, "the member has left", func() bool { s := h.Seats()[1]; return !s.Here && s.Why == "its pod was told to stop by SIGTERM" })
}
