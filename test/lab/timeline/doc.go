// Command timeline opens the page of `agent timeline -o html` in a real browser:
//
//	test/lab/run timeline                 the checks and the figures
//	test/lab/run timeline -shots DIR      also write pictures of each view
//
// The page has the invented run of test/suite/events: 1,000 workers, which restart twice. A second page has
// 20 restarts. The browser is Debian's chromium (apt-get install chromium); without it the command fails.
//
// # Checks
//
// At 1280 and 390 pixels, in light and in dark (views.go):
//   - the page asks for nothing from the network, logs no error, breaks no policy, and is not wider than the screen;
//   - targets of fingers have at least 24 pixels;
//   - the chart has the colors of the phases, and zoom, drag, search, order, keys and taps do what they promise;
//   - a hostile name of a worker does not run.
//
// # Figures
//
// SUITE.json has the size of the pages, the first paint, the time until the chart is drawn, and the layout shift.
package main
