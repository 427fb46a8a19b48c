package rendezvous_test

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/rendezvous"
)

// transcript runs the commands of testdata/board/*.txtar and records what a user would see in a log.
// Each line is one command:
//
//	want N [GRACE]            a board that waits for N workers
//	least N                   elastic: the minimum is N
//	spares N                  N of the wanted workers are spares
//	names NAME...             names mode: only these pods
//	container NAME            --container
//	set NAMES SHAPE [K=V...]  pods as in testdata/explain/SHAPE.txtar; NAMES is w-3 or w-0..7;
//	                          K=V is a label, or uid=, or age=DURATION before noon
//	delete NAMES
//	link NAMES ready|connecting|forbidden|agentmissing|noworker|unreachable|superseded
//	api CODE | api ok         the API server's state
//	after DURATION            DURATION passes, in ticks of 1 s
//	report [NAME SHAPE]       Report, optionally with another pod
type transcript struct {
	t       *testing.T
	board   *rendezvous.Board
	printer *rendezvous.Printer
	out     *bytes.Buffer
	now     time.Time
	pods    map[string]*corev1.Pod
	err     *rendezvous.APIError
	over    bool
	want    int
}

func TestBoardTranscripts(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "board", "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			require.NoError(t, err)
			out := &bytes.Buffer{}
			s := &transcript{t: t, out: out, now: noon, pods: map[string]*corev1.Pod{}, printer: &rendezvous.Printer{Out: out}}
			for line := range strings.Lines(string(section(t, a, "commands").Data)) {
				line = strings.TrimSpace(line)
				if line == "" || strings.HasPrefix(line, "#") {
					continue
				}
				fmt.Fprintf(out, "> %s\n", line)
				s.command(strings.Fields(line))
			}
			expect(t, path, a, "output", out.String())
		})
	}
}

func (s *transcript) command(words []string) {
	switch words[0] {
	case "want":
		n, err := strconv.Atoi(words[1])
		require.NoError(s.t, err)
		var grace time.Duration
		if len(words) > 2 {
			grace = s.duration(words[2])
		}
		s.board, s.want = rendezvous.New(n, grace), n
		s.board.Namespace, s.board.Selector = "hpc", "muster.dev/job=pi"
		return
	case "least":
		n, err := strconv.Atoi(words[1])
		require.NoError(s.t, err)
		s.board.Least = n
		return
	case "spares":
		n, err := strconv.Atoi(words[1])
		require.NoError(s.t, err)
		s.board.Seats = rendezvous.NewSeats(s.want - n)
		return
	case "names":
		s.board.Names, s.board.Selector = words[1:], ""
		return
	case "container":
		s.board.Containers.Flag = words[1]
		return
	case "set":
		for _, name := range expand(s.t, words[1]) {
			s.set(name, words[2], words[3:])
		}
		s.sync()
	case "delete":
		for _, name := range expand(s.t, words[1]) {
			require.Contains(s.t, s.pods, name)
			delete(s.pods, name)
		}
		s.sync()
	case "link":
		for _, name := range expand(s.t, words[1]) {
			s.board.SetLink(string(s.pods[name].UID), linkState(s.t, name, words[2]))
		}
	case "api":
		s.api(words[1])
		s.sync()
	case "after":
		for end := s.now.Add(s.duration(words[1])); s.now.Before(end) && !s.over; {
			s.now = s.now.Add(time.Second)
			s.tick()
		}
		return
	case "report":
		s.out.WriteString(s.board.Report(s.now))
		return
	default:
		require.FailNow(s.t, "unknown command "+words[0])
	}
	s.tick()
}

func (s *transcript) set(name, shapeName string, settings []string) {
	pod := shape(s.t, shapeName)
	pod.Name, pod.UID = name, types.UID("u-"+name)
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "=")
		switch key {
		case "uid":
			pod.UID = types.UID(value)
		case "age":
			pod.CreationTimestamp = metav1.NewTime(noon.Add(-s.duration(value)))
		default:
			pod.Labels[key] = value
		}
	}
	s.pods[name] = pod
}

func (s *transcript) sync() {
	snap := rendezvous.Snapshot{At: s.now, Err: s.err}
	for _, pod := range s.pods {
		snap.Pods = append(snap.Pods, pod)
	}
	slices.SortFunc(snap.Pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	s.board.SetPods(snap)
}

func (s *transcript) api(word string) {
	s.err = nil
	if word == "ok" {
		return
	}
	code, err := strconv.Atoi(word)
	require.NoError(s.t, err)
	s.err = &rendezvous.APIError{Code: rendezvous.Unreachable, Verb: "watch", Err: fmt.Errorf("the server answered %d %s", code, http.StatusText(code)), Since: s.now, Hints: "wait"}
	if code == http.StatusForbidden {
		s.err.Code = rendezvous.Forbidden
	}
}

// tick prints the progress and, once, the end of the wait.
func (s *transcript) tick() {
	if s.over {
		return
	}
	p := s.board.Tick(s.now)
	s.printer.Show(p, s.now)
	if workers, done := s.board.Done(); done {
		s.over = true
		s.printer.Finish(p, s.now)
		fmt.Fprintf(s.out, "= done:")
		for _, w := range workers {
			fmt.Fprintf(s.out, " %s", w.Name)
		}
		fmt.Fprintln(s.out)
	} else if reason, hopeless := s.board.Hopeless(s.now); hopeless {
		s.over = true
		s.printer.Finish(p, s.now)
		fmt.Fprintf(s.out, "= give up with %d: %s\n  hint: %s\n", reason.ExitCode(), reason.Sentence, reason.Hint)
	}
}

func (s *transcript) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(s.t, err)
	return d
}

func linkState(t *testing.T, pod, word string) rendezvous.LinkState {
	reasons := map[string]rendezvous.Reason{
		"connecting":   rendezvous.ConnectingTo(pod),
		"forbidden":    rendezvous.LinkForbidden(pod, "hpc", `pods "`+pod+`" is forbidden: User "system:serviceaccount:hpc:pi" cannot create resource "pods/exec"`),
		"agentmissing": rendezvous.LinkNoAgent(pod, "worker", "/muster/agent", "stat /muster/agent: no such file or directory"),
		"unreachable":  rendezvous.LinkUnreachable(pod, "dial tcp 10.0.0.1:443: connect: connection refused"),
		"noworker":     rendezvous.LinkNoWorker(pod, "worker", "no socket at /run/muster/worker.sock"),
		"superseded": {Code: rendezvous.Superseded, Pod: pod, Brief: "Superseded: a newer launcher has this worker",
			Sentence: pod + ": launcher uid-b has claimed it; this launcher, uid-a, is older", Permanent: true, Grace: -1,
			Hint: "two launchers run for one job: end one of them, or give them different jobs"},
	}
	if word == "ready" {
		return rendezvous.LinkState{Ready: true}
	}
	require.Contains(t, reasons, word)
	return rendezvous.LinkState{Reason: reasons[word]}
}

// expand returns w-0, w-1, w-2, w-3 for w-0..3.
func expand(t *testing.T, names string) []string {
	first, last, ok := strings.Cut(names, "..")
	if !ok {
		return []string{names}
	}
	cut := strings.LastIndexByte(first, '-') + 1
	from, err := strconv.Atoi(first[cut:])
	require.NoError(t, err)
	to, err := strconv.Atoi(last)
	require.NoError(t, err)
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, first[:cut]+strconv.Itoa(i))
	}
	return all
}
