// Package stall applies the rules for output lines (--expect, --fail-on) to one attempt. It passes
// every output line to the rules, and sets a timer for the next time at which a rule may fire. It also
// passes the step times of ranks, which the rules measure, to agent/straggler.
//
// Guarantees: output passes through unchanged. If lines cannot arrive, the rules are not judged;
// Unread and Late detect this. A nil Watch does nothing.
package stall
