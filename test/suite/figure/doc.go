// Package figure keeps the figures of Muster's tests: rows in $MUSTER_OUT/SUITE.json (default: out/ of the module),
// each with a bar.
//
// The author of a row does not set its value. Record and Check compute it from the raw numbers that the row's Log
// names: a JSON file below the same directory, as PATH or PATH#KEY. The JSON value is a number, a boolean (1 or 0),
// or a Series, which defines how its samples become one value.
//
// The package does not run tests, and it keeps no history: a row replaces an older row with the same name.
package figure
