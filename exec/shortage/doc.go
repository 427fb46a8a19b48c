// Package shortage handles the errors of a machine that has run out of descriptors, memory or disk
// space. It knows which of them pass by themselves, what a user can do about them, and how to accept
// connections in spite of them.
//
// It promises that Accept never spins, and that no passing error ends it. It logs nothing and
// closes no listener.
package shortage
