package names

import "strings"

// Reasons why a launcher gives up a worker. EndRecord.Why has one of them, and so has the last
// sentence of the worker, from which the controller learns what its node has done. No reason means
// that the program may be at fault.
const (
	WhyPreflight = "preflight" // the worker failed a check before ranks started
	WhyDevice    = "device"    // a device of the worker is broken
)

// replacedWords is the last sentence of a worker that ends with ExitReplaced.
const replacedWords = "the launcher wants another worker in place of this one"

// ReplacedWords returns the last words of a worker that its launcher gave up. They include why if it
// is one of the known reasons, because why comes from another process.
func ReplacedWords(why string) string {
	if !knownWhy(why) {
		return replacedWords
	}
	return replacedWords + ": " + why
}

// ReplacedWhy returns the reason in last words that ReplacedWords made, or "" if there is none. The
// words may have text before and lines after them.
func ReplacedWhy(words string) string {
	_, why, _ := strings.Cut(words, replacedWords+": ")
	why, _, _ = strings.Cut(why, "\n")
	if !knownWhy(why) {
		return ""
	}
	return why
}

func knownWhy(why string) bool { return why == WhyPreflight || why == WhyDevice }
