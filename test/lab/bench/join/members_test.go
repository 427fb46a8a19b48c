//go:build speed

package join

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/musterhq/muster/agent/join"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// farmVariable makes this program a farm: "ADDRESS SIZE FIRST COUNT".
const farmVariable = "BENCH_MEMBERS"

// unpackEvery is the number of members of which one unpacks its table. Real members all do, on machines of their own.
const unpackEvery = 100

const token = "the token of a benchmark, which no job has"

// farm plays members. It prints "ready", waits for a line, and lets them connect. It prints "told" when
// all were told to start their ranks, and "over" when all know that the job is over.
func farm(config string) error {
	words := strings.Fields(config)
	var numbers [3]int
	for i := range numbers {
		n, err := strconv.Atoi(words[1+i])
		if err != nil {
			return err
		}
		numbers[i] = n
	}
	size, first, count := numbers[0], numbers[1], numbers[2]
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	var told, over sync.WaitGroup
	told.Add(count)
	failed := make(chan error, count)
	for rank := first; rank < first+count; rank++ {
		over.Go(func() {
			if err := play(cardOf(rank, size), words[0], told.Done); err != nil {
				failed <- fmt.Errorf("rank %d: %w", rank, err)
			}
		})
	}
	all := make(chan struct{})
	go func() {
		told.Wait()
		fmt.Println("told")
		over.Wait()
		close(all)
	}()
	select {
	case <-all:
		fmt.Println("over")
		return nil
	case err := <-failed:
		return err
	}
}

// cardOf is the card of a member in a pod of an Indexed Job.
func cardOf(rank, size int) barrier.Card {
	cfg := join.Defaults()
	id := wire.NewID()
	host := fmt.Sprintf("train-%d", rank)
	return barrier.Card{Rank: rank, Size: size, Name: host + "-" + id[:5], Host: host, Address: fmt.Sprintf("10.%d.%d.%d", 64+rank>>16, rank>>8&255, rank&255),
		Slots: 8, Interface: "eth0", Instance: id, Settings: []barrier.Setting{
			{Name: "framework", Value: "plain"}, {Name: "procs-per-worker", Value: strconv.Itoa(cfg.Procs)}, {Name: "roles", Value: cfg.Roles},
			{Name: "success", Value: cfg.Success}, {Name: "max-restarts", Value: strconv.Itoa(cfg.MaxRestarts)}, {Name: "restart-on", Value: cfg.RestartOn},
			{Name: "compat", Value: cfg.Compat},
		}}
}

// told is what rank 0 wants of a member, and ends what a member reports; see agent/join.
type (
	work struct {
		Attempt int   `json:"attempt"`
		Start   []int `json:"start"`
	}
	ends struct {
		Attempt int   `json:"attempt"`
		Ends    []end `json:"ends,omitempty"`
	}
	end struct {
		Process int             `json:"process"`
		Exit    wire.ExitRecord `json:"exit"`
	}
)

// play plays one member until the job is over. It calls started when the member is told to start its
// rank.
func play(card barrier.Card, address string, started func()) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	m := barrier.NewMember(barrier.MemberConfig{Card: card, Token: []byte(token), Dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", address)
	}})
	news := barrier.News{Ready: true, Attempt: -1}
	m.Report(news)
	refused := make(chan error, 1)
	go func() { refused <- m.Run(ctx) }()
	once := sync.OnceFunc(started)
	for {
		select {
		case err := <-refused:
			return err
		case e := <-m.Events():
			switch {
			case e.Order != nil && e.Order.Phase == barrier.PhaseOver:
				return nil
			case e.Order != nil && e.Order.Phase == barrier.PhaseRun && len(e.Order.Table) > 0 && e.Order.Attempt > news.Attempt:
				if card.Rank%unpackEvery == 0 {
					table, err := e.Order.Table.Unpack()
					if err != nil {
						return err
					}
					if len(table) != card.Size || table[card.Rank].Instance != card.Instance {
						return fmt.Errorf("a table of %d members, which is not ours", len(table))
					}
				}
				news = barrier.News{Attempt: e.Order.Attempt, Port: e.Order.Port}
				if err := tell(m, &news, ends{Attempt: news.Attempt}); err != nil {
					return err
				}
			case e.Work != nil:
				var w work
				if err := json.Unmarshal(e.Work, &w); err != nil {
					return err
				}
				if len(w.Start) == 0 {
					continue
				}
				once()
				if err := tell(m, &news, ends{Attempt: w.Attempt, Ends: []end{{Process: w.Start[0]}}}); err != nil {
					return err
				}
			}
		}
	}
}

func tell(m *barrier.Member, news *barrier.News, e ends) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	news.Work = text
	m.Report(*news)
	return nil
}
