// Package gateway runs nginx in front of an API server. It listens at one socket for each kind of
// gateway. All of them pass WebSockets, and each has another way to drop SPDY.
package gateway
