// Package names holds the words that launcher, workers, controller and users
// share: label keys, environment variables, paths and exit codes.
//
// It is constants only, imports nothing, and may be imported by everybody. A
// word that two binaries must agree on stands here and nowhere else.
package names
