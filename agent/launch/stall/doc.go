// Package stall applies the rules for output lines (--expect, --fail-on) to one attempt: it
// shows the rules every line on its way to the user, and has a timer for the moment at which
// one may be broken.
//
// It promises: output goes on as it came. Rules are not judged by what cannot arrive:
// Unread and Late tell when that is so. A nil Watch does nothing.
package stall
