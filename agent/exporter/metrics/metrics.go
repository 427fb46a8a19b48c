package metrics

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/goodput"
	"github.com/musterhq/muster/agent/retry/rules"
	"github.com/musterhq/muster/agent/timeline"
)

// otherReason stands for reasons beyond the bound.
const otherReason = "Other"

// Metrics takes the events of one run, and serves what follows from them. Its methods may be called from
// any goroutine.
type Metrics struct {
	registry *prometheus.Registry
	phases   *prometheus.HistogramVec
	redial   prometheus.Histogram
	descs    map[string]*prometheus.Desc // of the other metrics
	trace    prometheus.Labels           // the exemplar of each observation; nil: no trace is known
	now      func() time.Time
	server   server

	mu sync.Mutex
	run
}

// run is what is known of the run.
type run struct {
	live    timeline.Live
	spent   spending
	version string
	wanted  int
	ended   time.Time // zero: the run goes on

	cut      map[string]time.Time // when the links that are down were lost, by worker
	attempts map[string]int       // by cause
	drops    int
	restarts int
	stalls   int
	missing  int // events
	sample   event.Sample
}

// New returns the Metrics of a run that has not begun. parent is the W3C trace context of the run, as in
// TRACEPARENT; "": none.
func New(parent string) *Metrics {
	m := &Metrics{registry: prometheus.NewPedanticRegistry(), descs: map[string]*prometheus.Desc{}, now: time.Now,
		run: run{cut: map[string]time.Time{}, attempts: map[string]int{}, spent: newSpending()}}
	if id := traceID(parent); id != "" {
		m.trace = prometheus.Labels{"trace_id": id}
	}
	m.phases = prometheus.NewHistogramVec(histogram(namePhase, prometheus.ExponentialBuckets(0.25, 2, 14)), about(namePhase).Labels)
	m.redial = prometheus.NewHistogram(histogram(nameRedial, prometheus.ExponentialBuckets(0.125, 2, 12)))
	for _, phase := range launchPhases() { // a series that exists has a rate
		m.phases.WithLabelValues(phase)
	}
	for _, a := range Table() {
		if a.Type != Histogram {
			m.descs[a.Name] = prometheus.NewDesc(a.Name, a.Help, a.Labels, nil)
		}
	}
	m.registry.MustRegister(m.phases, m.redial, m)
	return m
}

// histogram returns the options of a native histogram that also has classic buckets.
func histogram(name string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Name: name, Help: about(name).Help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour}
}

// observe adds a duration to a histogram, with the trace as its exemplar.
func (m *Metrics) observe(to prometheus.Observer, took time.Duration) {
	if with, ok := to.(prometheus.ExemplarObserver); ok && m.trace != nil {
		with.ObserveWithExemplar(took.Seconds(), m.trace)
		return
	}
	to.Observe(took.Seconds())
}

// Take implements exporter.Sink.
func (m *Metrics) Take(e event.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ended, _ := m.live.Take(e)
	for _, s := range ended {
		if slices.Contains(launchPhases(), string(s.Phase)) {
			m.observe(m.phases.WithLabelValues(string(s.Phase)), s.Took())
		}
	}
	m.spent.take(e)
	switch e.Kind {
	case event.RunStarted:
		m.version, m.wanted = e.Detail, e.Count
	case event.LinkLost:
		m.drops++
		m.cut[e.Worker] = e.Time
	case event.LinkBack:
		if lost, ok := m.cut[e.Worker]; ok {
			m.observe(m.redial, max(0, e.Time.Sub(lost)))
		}
		delete(m.cut, e.Worker)
	case event.WorkerLost, event.Replaced:
		delete(m.cut, e.Worker)
	case event.AttemptEnded:
		cause := e.Cause
		if !slices.Contains(rules.Ends(), cause) {
			cause = rules.Failed
		}
		m.attempts[cause]++
	case event.Restart:
		m.restarts++
	case event.Stalled:
		m.stalls++
	case event.Dropped:
		m.missing += e.Count
	case event.RunEnded:
		m.ended = e.Time
	case event.Sampled:
		if s, ok := event.SampleOf(e); ok {
			m.sample = s
		}
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range m.descs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	set := func(name string, value float64, labels ...string) {
		kind := prometheus.GaugeValue
		if about(name).Type == Counter {
			kind = prometheus.CounterValue
		}
		to <- prometheus.MustNewConstMetric(m.descs[name], kind, value, labels...)
	}
	if m.version != "" {
		set(nameRunInfo, 1, m.version)
	}
	set(nameWanted, float64(m.wanted))
	count := m.live.Phases()
	for _, state := range states() {
		set(nameWorkers, float64(count[timeline.Phase(state)]), state)
	}
	for reason, n := range m.waiting() {
		set(nameWaiting, float64(n), reason)
	}
	set(nameDrops, float64(m.drops))
	for _, cause := range rules.Ends() {
		set(nameAttempts, float64(m.attempts[cause]), cause)
	}
	set(nameRestarts, float64(m.restarts))
	set(nameStalls, float64(m.stalls))
	for n, value := range m.numbers() {
		set(nameProgress, value, n.rule, strconv.Itoa(n.group))
	}
	if spent := m.spent.until(m.until()); spent != nil {
		for _, class := range classes() {
			set(nameSeconds, spent[goodput.Class(class)], class)
		}
		if share, ok := spent.Ratio(); ok {
			set(nameRatio, share)
		}
	}
	set(nameOutput, float64(m.sample.OutputBytes))
	set(nameBuffered, float64(m.sample.BufferedBytes))
	set(nameLostEvent, float64(m.missing))
}

// waiting returns the workers that are not ready by reason. Those beyond the bound are Other.
func (m *Metrics) waiting() map[string]int {
	reasons := slices.Sorted(maps.Keys(m.sample.Waiting))
	count := map[string]int{}
	for i, reason := range reasons {
		if i >= mostReasons-1 {
			reason = otherReason
		}
		count[reason] += m.sample.Waiting[reasons[i]]
	}
	return count
}

// number is a group of a rule.
type number struct {
	rule  string
	group int
}

// numbers returns the numbers of progress rules, up to the bound. Rules that look the same after long
// expressions were cut share a number.
func (m *Metrics) numbers() map[number]float64 {
	found := map[number]float64{}
	for _, n := range m.sample.Progress {
		if len(found) < mostNumbers {
			found[number{n.Rule, n.Group}] = n.Value
		}
	}
	return found
}

// until returns the end of the time to account for: now, or the end of the run.
func (m *Metrics) until() time.Time {
	if !m.ended.IsZero() {
		return m.ended
	}
	return m.now()
}

// traceID returns the trace id of a W3C trace context, or "" if the text is none.
func traceID(parent string) string {
	const length = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if len(parent) < length || parent[2] != '-' || parent[35] != '-' {
		return ""
	}
	id, zero := parent[3:35], true
	for _, c := range id {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ""
		}
		zero = zero && c == '0'
	}
	if zero {
		return ""
	}
	return id
}
