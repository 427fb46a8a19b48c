// Package tree chooses the way from a launcher to each of many workers. Some workers are relays for
// others, so that the launcher and each relay hold tens of connections.
//
// Workers have positions from 0 on. The first [FanOut] are reached directly. Position k is reached
// through position k/FanOut - 1, which is the numbering of a heap whose root is the launcher. With 64,
// two levels reach 4,160 workers and three 266,304.
//
//	Tree.Join, Leave   a worker gets the lowest free position, or gives up its own
//	Tree.Dial          a connection to a worker, through the trunk of its parent
//
// A relay has one connection from its parent, its trunk. Its own link is a lane of that trunk, which
// leads to its own address.
//
// If a trunk breaks or cannot be opened, the workers behind it are dialed through a sibling of the
// relay, and directly if that fails, too. The relay is tried again for dials that come later. Nothing
// moves back: a connection that works stays.
//
// A Tree knows neither the session protocol nor Kubernetes. Its connections are not authenticated: its
// caller seals both links and trunks end to end (exec/secure).
package tree
