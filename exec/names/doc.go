// Package names holds the words that launcher, workers, controller and users share: label keys,
// environment variables, paths and exit codes.
//
// It holds only constants, imports no other package of Muster, and any package may import it. A
// word that two binaries must agree on is defined only here.
package names
