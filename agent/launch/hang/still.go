package hang

import (
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
)

// Scene is what one worker's processes, or the command's in the launcher, did at one moment.
type Scene struct {
	at     time.Time
	unread uint64 // bytes of output that wait for their reader, the launcher
	actors []actor
}

// actor is one process of a scene.
type actor struct {
	Session string
	Process wire.ProcessRecord
	// rests means that the run hangs only if this process does nothing. It is a rank, or its
	// session has no ranks.
	rests bool
}

// being identifies an actor for the whole run.
type being struct {
	pid   int
	start uint64
}

// SceneOf returns the scene that an answer describes.
func SceneOf(answer wire.AnswerRecord, at time.Time) Scene {
	s := Scene{at: at}
	for _, x := range answer.Sessions {
		s.unread += x.Unread
		s.actors = append(s.actors, actorsOf(x.ID, x.Processes)...)
	}
	return s
}

// NewScene returns a scene of processes that belong to no session.
func NewScene(at time.Time, processes []wire.ProcessRecord) Scene {
	return Scene{at: at, actors: actorsOf("", processes)}
}

func actorsOf(session string, processes []wire.ProcessRecord) (actors []actor) {
	ranked := false
	for _, p := range processes {
		ranked = ranked || p.Rank != ""
	}
	for _, p := range processes {
		actors = append(actors, actor{Session: session, Process: p, rests: p.Rank != "" || !ranked})
	}
	return actors
}

const (
	// littleShare is the divisor of the processor time that a process may use and still count as
	// idle. Such a process only checks from time to time whether something has arrived: NCCL's
	// watchdog, torchrun's agent, heartbeats.
	littleShare = 200
	// littleTime is the minimum of that time, because /proc counts in ticks of 10 ms.
	littleTime = 20 * time.Millisecond
	// littleMoved is how many bytes such a process may read and write.
	littleMoved = 1 << 20
)

// stirred reports whether a process has done something between two looks, or is being debugged.
// Output that the launcher has not read counts as well, because then no rank is at fault.
func stirred(before, now Scene) bool { return stirredBut(before, now, nil) }

// stirredBut is stirred, but the processes in may are allowed to use a processor.
func stirredBut(before, now Scene, may map[being]bool) bool {
	if now.unread > 0 {
		return true
	}
	old := map[being]wire.ProcessRecord{}
	for _, a := range before.actors {
		if a.rests {
			old[a.being()] = a.Process
		}
	}
	little := max(littleTime, now.at.Sub(before.at)/littleShare)
	for _, a := range now.actors {
		if !a.rests {
			continue
		}
		was, known := old[a.being()]
		used := time.Duration(a.Process.CPU-was.CPU) * time.Millisecond
		if !known || used > little && !may[a.being()] || a.Process.Moved-was.Moved > littleMoved || a.Process.State == tracedState {
			return true
		}
		delete(old, a.being())
	}
	return len(old) > 0
}

// tracedState is the state of a process that a debugger has stopped.
const tracedState = "t"

func (a actor) being() being { return being{a.Process.PID, a.Process.Start} }

// stillness records how long a run has done nothing at all.
type stillness struct {
	after   time.Duration
	printed time.Time
	scenes  map[string]Scene     // the last scene of each worker
	idle    map[string]time.Time // since when each worker has done nothing
	worked  time.Time            // when a worker was last seen to have done something
}

func newStillness(after time.Duration, now time.Time) *stillness {
	return &stillness{after: after, printed: now, scenes: map[string]Scene{}, idle: map[string]time.Time{}}
}

// take records a scene, and reports whether the worker has done something since the previous one.
func (s *stillness) take(worker string, now Scene) bool {
	before, known := s.scenes[worker]
	active := known && stirred(before, now)
	if !known || active {
		s.idle[worker] = now.at
	}
	if active && now.at.After(s.worked) {
		s.worked = now.at
	}
	s.scenes[worker] = now
	return active
}

// keep removes the workers for which the function returns false.
func (s *stillness) keep(workers func(string) bool) {
	for name := range s.scenes {
		if !workers(name) {
			delete(s.scenes, name)
			delete(s.idle, name)
		}
	}
}

// since returns when the run was last seen to do something: the last output, or the last look that
// showed work.
func (s *stillness) since() time.Time {
	if s.worked.After(s.printed) {
		return s.worked
	}
	return s.printed
}

// hangs reports whether, for the whole time, nothing was printed and every worker that was looked
// at did nothing. There must be at least one process.
func (s *stillness) hangs(now time.Time) bool {
	if now.Sub(s.printed) < s.after {
		return false
	}
	actors := 0
	for name, since := range s.idle {
		if now.Sub(since) < s.after {
			return false
		}
		actors += len(s.scenes[name].actors)
	}
	return actors > 0
}

// HasRanks reports whether a daemon of these sessions has a rank.
func HasRanks(s Scene, sessions map[string]bool) bool {
	daemons := map[int]bool{}
	for _, a := range s.actors {
		daemons[a.Process.PID] = names.IsMPIDaemon(a.Process.Command)
	}
	for _, a := range s.actors {
		if sessions[a.Session] && a.Process.Rank != "" && daemons[a.Process.Parent] {
			return true
		}
	}
	return false
}
