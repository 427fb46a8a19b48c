package jobs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/metrics"
	"github.com/musterhq/muster/exec/names"
)

// ranked picks the lines of one rank from the launcher's log, to which all ranks write. A line
// belongs to the rank in its tag. Lines without a tag are Muster's or mpirun's, or come from ranks
// that cannot be told apart.
type ranked struct {
	rank  int
	tags  metrics.Tags
	alone bool // the job has one rank, so lines without a tag are its

	mu       sync.Mutex // guards the fields below: a replaced launcher has its own reader
	seen     map[int]bool
	mine     int // lines of this rank
	untagged int
}

// newRanked expects the tags that the job's launcher puts before lines.
func newRanked(job *v1alpha1.LaunchJob, rank int) *ranked {
	return &ranked{rank: rank, tags: tagsOf(job), alone: ranks(job) == 1, seen: map[int]bool{}}
}

// tagsOf returns the tag formats of a launcher's log. A format that could also be an epoch counter
// is included only if Muster tags the lines of its processes, or if mpirun is told to.
func tagsOf(job *v1alpha1.LaunchJob) metrics.Tags {
	own, found := launcherContainer(job.Spec.Launcher)
	if !found {
		return metrics.TagsSure
	}
	for _, v := range own.Env {
		if v.Name == names.EnvOutput {
			if v.Value == names.OutputTag {
				return metrics.TagsAll
			}
			return metrics.TagsSure
		}
	}
	words := slices.Concat(own.Command, own.Args)
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains([]string{"-prepend-rank", "-l"}, w) }) {
		return metrics.TagsAll
	}
	name := job.Spec.Framework
	if name == "" || name == framework.Auto {
		name = framework.Detect(words)
	}
	if slices.Contains([]string{"", "mpi", "openmpi", "mpich", "intelmpi", "horovod"}, name) {
		return metrics.TagsSure
	}
	return metrics.TagsAll
}

// launcherContainer returns the container that decides for a launcher's pod.
func launcherContainer(l *v1alpha1.Launcher) (corev1.Container, bool) {
	name := cmp.Or(l.Container, l.Template.Annotations[names.AnnotationDefaultContainer])
	for _, c := range l.Template.Spec.Containers {
		if name == "" || c.Name == name {
			return c, true
		}
	}
	return corev1.Container{}, false
}

// mostSeen limits how many ranks are remembered for a sentence.
const mostSeen = 1 << 16

// take returns the text of a line of the rank, without its tag.
func (r *ranked) take(line []byte) (text []byte, ok bool) {
	rank, text, tagged := r.tags.Split(line)
	switch {
	case tagged:
		if len(r.seen) < mostSeen {
			r.seen[rank] = true
		}
	case r.alone && !bytes.HasPrefix(line, []byte("agent: ")) && !bytes.HasPrefix(line, []byte("hint: ")):
		rank, text = 0, line
	default:
		r.untagged++
		return nil, false
	}
	if rank != r.rank {
		return nil, false
	}
	r.mine++
	return text, true
}

// pick is take for several readers.
func (r *ranked) pick(line []byte) (text []byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.take(line)
}

// pickStream returns a stream of the lines that pick accepts, as it returns them. tail counts these
// lines. So pickStream reads all existing lines, and passes on the last ones.
func pickStream(ctx context.Context, source logSource, since time.Time, tail int, pick func(line []byte) (text []byte, ok bool), emit func(time.Time, []byte) error) (*stream, error) {
	type held struct {
		at   time.Time
		text []byte
	}
	var last []held
	reading := tail > 0
	s := newStream(source, since, 0, func(at time.Time, line []byte) error {
		text, mine := pick(line)
		switch {
		case !mine:
			return nil
		case !reading:
			return emit(at, text)
		}
		if last = append(last, held{at, bytes.Clone(text)}); len(last) > tail {
			last = last[1:]
		}
		return nil
	})
	if !reading {
		return s, nil
	}
	_, _ = s.pass(ctx, false) // what it did not read is passed on completely later
	reading = false
	for _, l := range last {
		if err := emit(l.at, l.text); err != nil {
			return nil, printing(err)
		}
	}
	return s, nil
}

// verdict returns an error if the log cannot show what the rank wrote, and a note if the rank wrote
// nothing.
func (r *ranked) verdict(a *API, job *v1alpha1.LaunchJob) (note string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, isKept := archiveOf(job)
	switch launcher := job.Name + "-launcher"; {
	case r.mine > 0:
		return "", nil
	case isKept:
		return "", failure.New(1, kept.way(a, job, &r.rank), "--rank=%d: %s writes the output of its ranks to %s", r.rank, job.Name, kept.place())
	case r.rank >= ranks(job):
		return "", failure.New(1, a.Line("logs "+job.Name)+" shows all lines; --all adds the workers' logs",
			"--rank=%d: %s has slots for %s, and %s", r.rank, job.Name, rankSpan(ranks(job)), r.others(launcher))
	case len(r.seen) == 0 && r.untagged > 0:
		return "", failure.New(1, a.Line("logs "+job.Name)+" shows all lines; MUSTER_OUTPUT=tag in the launcher's env makes mpirun tag them, as agent submit does",
			"--rank=%d: no line in the log of %s names a rank", r.rank, launcher)
	case len(r.seen) > 0:
		return fmt.Sprintf("no line of rank %d: %s", r.rank, r.others(launcher)), nil
	}
	return "", nil
}

// others says whose lines the log has.
func (r *ranked) others(launcher string) string {
	if len(r.seen) == 0 {
		return "the log of " + launcher + " has no such line"
	}
	var all []int
	for rank := range r.seen {
		all = append(all, rank)
	}
	slices.Sort(all)
	return "the log of " + launcher + " has lines of ranks " + spans(all)
}

// spans formats sorted numbers as 0-3, 7.
func spans(all []int) string {
	var parts []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(all[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", all[i], all[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}
