// Package sample asks the workers of a run which ranks they have, and what those use now.
//
// It asks twice, a second apart, for the use of processors. Workers that do not answer in time are
// missing in the result.
package sample
