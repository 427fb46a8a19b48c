// Package external describes a framework in a separate program to packages that must not link the
// plugin client: gRPC alone adds a millisecond to every start. [Parse] reads a --plugin flag,
// [Config] says what to open and how to start its process, and [Plugin] is the result. Package
// plugin does the work.
package external
