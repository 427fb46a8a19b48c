// Package timeline says where the time of a run went: it turns events into phases for each worker.
//
//	timeline.go  Build: from events to the spans of each worker
//	state.go     what is known of a worker and of the run, and the phase that follows from it
//	phase.go     the phases, each with a sentence
//	live.go      Live: the same spans, and the phases of this moment, while a run goes on
//	slowest.go   the slowest worker of each phase, and its cause
//	text.go      the view for a terminal; json.go and chrome.go for programs
//	html.go      the page; its data (compact.go), style (page.css) and script (chart.js, page.js)
//	svg.go       the picture; color.go and escape.go are for both
//
// Guarantees: each worker is in exactly one phase at each moment, so its spans add up to the wall
// time exactly. What the events do not tell is Unknown. The package is pure: it reads no clock and
// no file.
package timeline
