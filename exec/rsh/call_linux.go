package rsh

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/shortage"
)

var errGone = &sentence{
	text: "rsh: the launcher ended before the command did",
	tip:  "see the log of the launcher",
}

// takenWithin is how long the launcher may take to read a request. Its accept loop may lack
// descriptors or memory indefinitely, and mpirun waits as long as its stub does.
const takenWithin = time.Minute

var errNotTaken = &sentence{
	text: "rsh: the launcher did not accept the command within a minute",
	tip:  "see the log of the launcher",
}

// Call asks the broker at socket to run r with the descriptors files (stdin, stdout, stderr), and
// waits until the remote command has ended. It returns the exit code and, as the error, a sentence
// for stderr. A nonzero exit code may come without a sentence. The exit code is 255, with a
// sentence, if the connection to the worker failed. The caller keeps the descriptors.
func Call(socket string, r Request, files [3]int) (int, error) {
	fds := files[:]
	if r.NoStdin {
		fds = files[1:]
	}
	reply, err := exchange(socket, AppendRequest(nil, KindRun, r), fds)
	if err != nil {
		return names.ExitTransport, err
	}
	return ended(reply)
}

// ended converts the reply to a run into the results of Call.
func ended(reply Reply) (int, error) {
	if len(reply.Lines) == 0 {
		return reply.Code, nil
	}
	s := &sentence{text: reply.Lines[0]}
	if len(reply.Lines) > 1 {
		s.tip = reply.Lines[1]
	}
	return reply.Code, s
}

// Hosts returns the hosts of the launcher behind socket, in rank order.
func Hosts(socket string) ([]string, error) { return ask(socket, KindHosts, Request{}) }

// Stacks returns lines that say where the ranks with these numbers are, or all ranks if ranks is
// empty.
func Stacks(socket string, ranks []string) ([]string, error) {
	return ask(socket, KindStacks, Request{Command: strings.Join(ranks, " ")})
}

// Doctor makes the launcher check its workers again, and returns the findings, each as JSON.
func Doctor(socket string) ([]string, error) { return ask(socket, KindDoctor, Request{}) }

// Top returns what the workers use and how fast their ranks are, each worker as JSON.
func Top(socket string) ([]string, error) { return ask(socket, KindTop, Request{}) }

func ask(socket string, kind Kind, r Request) ([]string, error) {
	reply, err := exchange(socket, AppendRequest(nil, kind, r), nil)
	if err != nil {
		return nil, err
	}
	if reply.Code != 0 {
		s := &sentence{text: "rsh: the launcher refused the command"}
		if len(reply.Lines) > 0 {
			s.text = reply.Lines[0]
		}
		return nil, s
	}
	return reply.Lines, nil
}

func exchange(socket string, frame []byte, fds []int) (Reply, error) {
	conn, err := request(socket, frame, fds, takenWithin)
	if err != nil {
		return Reply{}, err
	}
	defer unix.Close(conn)
	// Not at once: a short command has ended by then, and the runtime has started its threads,
	// which would bring the pages back.
	if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(conn), Events: unix.POLLIN}}, 10); n == 0 {
		proc.ReleasePages()
	}
	return readReply(func(b []byte) error { return readFull(conn, b) })
}

// request connects and sends a frame. The caller closes the connection. Until the broker has read
// the frame, each step waits no longer than limit.
func request(socket string, frame []byte, fds []int, limit time.Duration) (conn int, err error) {
	if len(frame)-4 > MaxMessage {
		return -1, &sentence{text: "rsh: the command is too long: " + strconv.Itoa(len(frame)) + " bytes, at most " + strconv.Itoa(MaxMessage)}
	}
	if conn, err = connect(socket, limit); err != nil {
		return -1, err
	}
	if err := send(conn, frame, fds); err != nil {
		unix.Close(conn)
		if errors.Is(err, unix.EAGAIN) {
			return -1, errNotTaken
		}
		return -1, errGone
	}
	return conn, nil
}

// readReply reads a reply with fill, which fills its argument.
func readReply(fill func([]byte) error) (Reply, error) {
	var head [4]byte
	if err := fill(head[:]); err != nil {
		return Reply{}, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > MaxMessage {
		return Reply{}, ErrMalformed
	}
	body := make([]byte, size)
	if err := fill(body); err != nil {
		return Reply{}, err
	}
	return ParseReply(body)
}

// connect connects to the broker at socket, whose server must be the socket's owner or root. It
// waits up to limit while the broker's queue is full, and so does each later step on the
// connection.
func connect(socket string, limit time.Duration) (int, error) {
	if len(socket) > rundir.MaxSocketPath {
		long := &rundir.PathTooLongError{Path: socket}
		return -1, &sentence{text: "rsh: " + long.Error(), tip: long.Hint()}
	}
	s, err := rundir.Reach(socket)
	if errors.Is(err, unix.ENOENT) {
		return -1, NoLauncher(socket)
	}
	if err != nil {
		return -1, unconnected(socket, err)
	}
	defer s.Close()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, unconnected(socket, err)
	}
	err = limitWaits(fd, limit)
	for err == nil {
		if err = unix.Connect(fd, &unix.SockaddrUnix{Name: s.Address()}); !errors.Is(err, unix.EINTR) {
			break
		}
		err = nil
	}
	if err == nil {
		var server *unix.Ucred
		if server, err = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			err = s.Trust(int(server.Uid))
		}
	}
	if err == nil {
		return fd, nil
	}
	unix.Close(fd)
	if errors.Is(err, unix.EAGAIN) {
		return -1, errNotTaken
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED) {
		return -1, NoLauncher(socket)
	}
	return -1, unconnected(socket, err)
}

// limitWaits limits how long a connect, a send or a read on fd waits; 0 means no limit. A longer
// wait ends with EAGAIN.
func limitWaits(fd int, limit time.Duration) error {
	wait := unix.NsecToTimeval(limit.Nanoseconds())
	return errors.Join(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait))
}

func unconnected(socket string, err error) error {
	return &sentence{text: "rsh: connect to the launcher at " + socket + ": " + err.Error(), tip: shortage.Hint(err)}
}

// send writes the frame. The descriptors are sent with its first byte.
func send(conn int, frame []byte, fds []int) error {
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	for len(frame) > 0 {
		n, err := unix.SendmsgN(conn, frame, rights, nil, unix.MSG_NOSIGNAL)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		frame, rights = frame[n:], nil
	}
	return nil
}

// readFull blocks its thread, because a stub waits on one descriptor and needs no poller. After the
// broker has read the request, the answer may take as long as the job lives.
func readFull(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Read(fd, b)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			if !isTaken(fd) {
				return errNotTaken
			}
			if limitWaits(fd, 0) != nil {
				return errGone
			}
		case err != nil || n == 0:
			return errGone
		default:
			b = b[n:]
		}
	}
	return nil
}

// isTaken reports whether the peer of fd has read everything that was sent. It returns true if the
// kernel cannot tell.
func isTaken(fd int) bool {
	unread, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
	return err != nil || unread == 0
}

// IsTerminal reports whether fd is a terminal; /dev/null is a character device too.
func IsTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}
