//go:build linux

package broker

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/test/contract"
)

// ends holds the two ends of a possible stdin or stdout of a stub.
type ends struct{ reader, writer *os.File }

func pipeEnds(t *testing.T) ends {
	var p [2]int
	require.NoError(t, unix.Pipe2(p[:], unix.O_CLOEXEC))
	return ends{os.NewFile(uintptr(p[0]), "r"), os.NewFile(uintptr(p[1]), "w")}
}

func socketEnds(t *testing.T) ends {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	return ends{os.NewFile(uintptr(p[0]), "r"), os.NewFile(uintptr(p[1]), "w")}
}

// terminalEnds returns a raw terminal. Its slave is the reader if slaveReads is set, otherwise the
// writer.
func terminalEnds(t *testing.T, slaveReads bool) ends {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err := unix.Open("/dev/pts/"+strconv.Itoa(number), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	modes, err := unix.IoctlGetTermios(slave, unix.TCGETS)
	require.NoError(t, err)
	modes.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG
	modes.Iflag &^= unix.IXON | unix.ICRNL | unix.INLCR | unix.ISTRIP
	modes.Oflag &^= unix.OPOST
	require.NoError(t, unix.IoctlSetTermios(slave, unix.TCSETS, modes))
	m, s := os.NewFile(uintptr(master), "master"), os.NewFile(uintptr(slave), "slave")
	if slaveReads {
		return ends{s, m}
	}
	return ends{m, s}
}

// kinds maps each kind of descriptor that may block to a function that creates it. Each is tested
// as stdin and as stdout.
var kinds = map[string]func(t *testing.T, passReader bool) ends{
	"pipe":     func(t *testing.T, _ bool) ends { return pipeEnds(t) },
	"socket":   func(t *testing.T, _ bool) ends { return socketEnds(t) },
	"terminal": terminalEnds,
	"non-blocking pipe": func(t *testing.T, passReader bool) ends {
		e := pipeEnds(t)
		f := e.writer
		if passReader {
			f = e.reader
		}
		require.NoError(t, control(f, func(fd int) error { return unix.SetNonblock(fd, true) }))
		return e
	},
}

// forEach runs f with each kind of descriptor, through adopt and through the epoll set that adopt
// uses if a pipe cannot be reopened.
func forEach(t *testing.T, reads bool, f func(t *testing.T, e ends, d io.ReadWriteCloser)) {
	for name, makeEnds := range kinds {
		for _, way := range []string{"adopted", "polled"} {
			t.Run(name+" "+way, func(t *testing.T) {
				e := makeEnds(t, reads)
				passedEnd := e.writer
				if reads {
					passedEnd = e.reader
				}
				var before int
				require.NoError(t, control(passedEnd, func(fd int) (err error) { before, err = unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); return err }))
				d := take(t, passedEnd, reads, way == "polled", name == "socket")
				f(t, e, d)
				d.Close()
				var after int
				require.NoError(t, control(passedEnd, func(fd int) (err error) { after, err = unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); return err }))
				require.Equal(t, before, after, "the flags of a shared open file must not change")
				e.reader.Close()
				e.writer.Close()
			})
		}
	}
}

// take passes a copy of f to adopt, as SCM_RIGHTS would.
func take(t *testing.T, f *os.File, reads, polledOnly, socket bool) io.ReadWriteCloser {
	var fd int
	require.NoError(t, control(f, func(old int) (err error) { fd, err = unix.FcntlInt(uintptr(old), unix.F_DUPFD_CLOEXEC, 3); return err }))
	if polledOnly {
		set, err := watchSet(fd, reads)
		require.NoError(t, err)
		return &polled{file: os.NewFile(uintptr(fd), "passed"), set: set, socket: socket}
	}
	d, err := adopt(fd, reads)
	require.NoError(t, err)
	return d
}

func control(f *os.File, call func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	if err := raw.Control(func(fd uintptr) { failure = call(int(fd)) }); err != nil {
		return err
	}
	return failure
}

func TestReadingEveryByte(t *testing.T) {
	data := randomBytes(t, 1<<20)
	forEach(t, true, func(t *testing.T, e ends, d io.ReadWriteCloser) {
		var group sync.WaitGroup
		group.Go(func() {
			for rest := data; len(rest) > 0; {
				n := min(len(rest), 1+rand.IntN(70_000))
				w, err := writeSome(e.writer, rest[:n])
				require.NoError(t, err)
				rest = rest[w:]
			}
		})
		got := make([]byte, len(data))
		_, err := io.ReadFull(d, got)
		require.NoError(t, err)
		group.Wait()
		require.Equal(t, sha256.Sum256(data), sha256.Sum256(got))
		require.NoError(t, e.writer.Close())
		n, err := d.Read(got)
		require.Zero(t, n)
		require.ErrorIs(t, err, io.EOF)
	})
}

func TestWritingEveryByteToASlowReader(t *testing.T) {
	data := randomBytes(t, 1<<20)
	forEach(t, false, func(t *testing.T, e ends, d io.ReadWriteCloser) {
		var got []byte
		var group sync.WaitGroup
		group.Go(func() {
			buf := make([]byte, 50_000)
			for len(got) < len(data) {
				n, err := e.reader.Read(buf[:1+rand.IntN(len(buf)-1)])
				if err != nil {
					t.Error(err)
					return
				}
				got = append(got, buf[:n]...)
			}
		})
		n, err := d.Write(data)
		require.NoError(t, err)
		require.Equal(t, len(data), n)
		group.Wait()
		require.Equal(t, sha256.Sum256(data), sha256.Sum256(got))
	})
}

func TestCloseEndsABlockedRead(t *testing.T) {
	forEach(t, true, func(t *testing.T, e ends, d io.ReadWriteCloser) {
		failed := make(chan error)
		go func() {
			_, err := d.Read(make([]byte, 1))
			failed <- err
		}()
		contract.Blocked(t, "TestCloseEndsABlockedRead", ").Read(")
		require.NoError(t, d.Close())
		require.ErrorIs(t, <-failed, os.ErrClosed)
		// The read took no byte from other processes that share the descriptor.
		_, err := e.writer.Write([]byte("x"))
		require.NoError(t, err)
	})
}

func TestCloseEndsABlockedWrite(t *testing.T) {
	forEach(t, false, func(t *testing.T, e ends, d io.ReadWriteCloser) {
		failed := make(chan error)
		go func() {
			for {
				if _, err := d.Write(make([]byte, 100_000)); err != nil {
					failed <- err
					return
				}
			}
		}()
		contract.Blocked(t, "TestCloseEndsABlockedWrite", ").Write(")
		if strings.Contains(t.Name(), "/terminal") {
			// A write to a terminal ends only after the terminal is read.
			go func() { _, _ = io.Copy(io.Discard, e.reader) }() // until forEach closes the terminal
		}
		require.NoError(t, d.Close())
		require.ErrorIs(t, <-failed, os.ErrClosed)
	})
}

func TestWritingToAClosedReader(t *testing.T) {
	for _, name := range []string{"pipe", "socket", "non-blocking pipe"} {
		for _, early := range []bool{true, false} {
			e := kinds[name](t, false)
			if early {
				e.reader.Close() // a pipe without a reader cannot be opened again
			}
			d := take(t, e.writer, false, false, false)
			e.reader.Close()
			_, err := d.Write([]byte("x"))
			require.ErrorIs(t, err, unix.EPIPE, name)
			d.Close()
			e.writer.Close()
		}
	}
}

func TestRegularFilesKeepTheirSharedOffset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(path)
	require.NoError(t, err)
	_, _ = f.WriteString("mpirun ")
	d := take(t, f, false, false, false)
	_, err = d.Write([]byte("rank "))
	require.NoError(t, err)
	_, _ = f.WriteString("mpirun again")
	require.NoError(t, d.Close())
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "mpirun rank mpirun again", string(got))

	_, _ = f.Seek(7, io.SeekStart)
	d = take(t, f, true, false, false)
	rest, err := io.ReadAll(d)
	require.NoError(t, err)
	require.Equal(t, "rank mpirun again", string(rest))
	d.Close()
	f.Close()
}

func TestNullDevice(t *testing.T) {
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, control(f, func(fd int) error {
		require.True(t, isNull(fd))
		return nil
	}))
	d := take(t, f, true, false, false)
	_, err = d.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	n, err := d.Write([]byte("x"))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	d.Close()
}

func TestInvalidDescriptor(t *testing.T) {
	_, err := adopt(1<<20, true)
	require.ErrorIs(t, err, unix.EBADF)
}

func TestNetworkSocket(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	server, err := l.Accept()
	require.NoError(t, err)
	defer server.Close()
	f, err := client.(*net.TCPConn).File()
	require.NoError(t, err)
	client.Close()
	d := take(t, f, true, false, false)
	f.Close()
	_, _ = io.WriteString(server, "hello")
	got := make([]byte, 5)
	_, err = io.ReadFull(d, got)
	require.NoError(t, err)
	require.Equal(t, "hello", string(got))
	require.NoError(t, d.Close())
}

// writeSome writes to a descriptor that another process may have made non-blocking. A full
// descriptor is no error.
func writeSome(f *os.File, b []byte) (int, error) {
	n, err := f.Write(b)
	if errors.Is(err, unix.EAGAIN) {
		return max(n, 0), nil
	}
	return n, err
}

func randomBytes(t *testing.T, size int) []byte {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var b bytes.Buffer
	r := rand.New(rand.NewPCG(seed, 3))
	for b.Len() < size {
		b.WriteByte(byte(r.Uint32()))
	}
	return b.Bytes()
}
