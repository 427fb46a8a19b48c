// Package figure keeps the figures that Muster's tests show: rows in
// $MUSTER_OUT/SUITE.json (default: out/ of the module), each with a bar.
//
// A row's value is never taken from its author: Record and Check compute it
// from the raw numbers that the row's Log names, a JSON file below the same
// directory, as PATH or PATH#KEY. What stands there is a number, a truth value
// (1 or 0), or a Series, which says how its samples become one value.
//
// It does not run tests, and it keeps no history: a row of the same name
// replaces the older one.
package figure
