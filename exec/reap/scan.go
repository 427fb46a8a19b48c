//go:build linux

package reap

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Proc is one process as a scan saw it.
type Proc struct {
	PID, PPID int
	Start     uint64 // clock ticks since boot; with PID it identifies a process uniquely
	State     byte   // as in /proc/PID/stat: R, S, D, T, t, Z, X, ...
	Threads   int
	Ticks     uint64    // of its own processor time, in user and kernel mode; see TickTime
	Exiting   bool      // its files are being closed; it has almost ended
	kernel    bool      // a kernel thread
	env       [2]uint64 // the range of its environment in its memory; zero while a program is loaded, or if we may not see it
	Comm      string    // name of the program, at most 15 bytes
	Marker    string    // value of the scanned variable; "" if absent or unreadable

	Numbers Numbers // of its rank, from its environment
	First   bool    // it was added to a Tree (Tree.Add)
}

// Alive returns false for a process that only waits to be collected. A zombie with more than one
// thread is alive: only its first thread has ended.
func (p Proc) Alive() bool {
	return p.State != 'Z' && p.State != 'X' && p.State != 'x' || p.Threads > 1
}

func (p Proc) stopped() bool { return p.State == 'T' || p.State == 't' }

// busy reports whether p works, or waits for a processor or a disk.
func (p Proc) busy() bool { return p.State == 'R' || p.State == 'D' }

// exiting is PF_EXITING of the kernel's include/linux/sched.h. It is set before a process's files
// are closed, a moment before it becomes a zombie.
const exiting = 4

// kernelThread is PF_KTHREAD of the same file.
const kernelThread = 0x200000

// Scan is the Scan of a new Table.
func Scan(env string) ([]Proc, error) { return NewTable(env).Scan() }

// Environ reads the environment of a process into buf, with a NUL after each K=V. While the process
// loads a program, the kernel shows no environment, or a part of the old one. Environ waits for the
// whole one, up to 0.2 s. On a busy machine this state may last long, so it waits up to 2 s while the
// process gets no processor, or waits for the disk. Errors are those of open and read; a process that
// has ended has ESRCH or ENOENT.
func Environ(pid int, buf *bytes.Buffer) error {
	path := "/proc/" + strconv.Itoa(pid) + "/environ"
	var now bytes.Buffer
	var before [2]uint64
	var first Proc
	for began := time.Now(); ; time.Sleep(loadPause) {
		if err := ReadFile(path, buf); err != nil || 0 < buf.Len() && buf.Len() < oneRead {
			return err
		}
		p, err := readStat(pid, &now)
		if first.PID == 0 {
			first = p
		}
		limit := loadTime
		if (p.State == 'R' || p.State == 'D') && p.Ticks == first.Ticks {
			limit = starvedTime
		}
		if err != nil || !p.Alive() || time.Since(began) > limit {
			return err
		}
		switch length := p.env[1] - p.env[0]; {
		case p.env[1] == 0: // it loads a program
		case length == 0: // an empty environment, or the kernel is about to fill it
			if p.State == 'S' || p.stopped() {
				return nil
			}
		case uint64(buf.Len()) == length, p.env == before: // whole, or not all of it can be read
			return nil
		}
		before = p.env
	}
}

// oneRead is less than what ReadFile reads at once. An environment that arrives at once is whole.
const oneRead = 4 << 10

// Limits of the wait for a program that is being loaded.
const (
	loadTime    = 200 * time.Millisecond
	starvedTime = 2 * time.Second // if it gets no processor
	loadPause   = 200 * time.Microsecond
)

// Stat reads one process, and uses buf as a buffer. Its Marker is empty.
func Stat(pid int, buf *bytes.Buffer) (Proc, error) { return readStat(pid, buf) }

// MainTicks returns the processor time of a process's first thread in ticks, or 0 if it is not
// known. It uses buf as a buffer.
func MainTicks(pid int, buf *bytes.Buffer) uint64 {
	number := strconv.Itoa(pid)
	if err := ReadFile("/proc/"+number+"/task/"+number+"/stat", buf); err != nil {
		return 0
	}
	p, err := parseStat(buf.Bytes())
	if err != nil {
		return 0
	}
	return p.Ticks
}

func readStat(pid int, buf *bytes.Buffer) (Proc, error) {
	if err := ReadFile("/proc/"+strconv.Itoa(pid)+"/stat", buf); err != nil {
		return Proc{}, err
	}
	return parseStat(buf.Bytes())
}

// parseStat reads a line of /proc/PID/stat (proc_pid_stat(5)). The name is in parentheses, and may
// contain spaces and parentheses. So fields count from the last parenthesis.
func parseStat(line []byte) (Proc, error) {
	open, shut := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || shut < open {
		return Proc{}, errors.New("parse stat: no name in parentheses")
	}
	// Fields 3, 4, 9, 14, 15, 20, 22, 50 and 51 of the manual. The last two came with Linux 3.5.
	const state, ppid, flags, utime, stime, threads, start, envStart, envEnd = 0, 1, 6, 11, 12, 17, 19, 47, 48
	var room [envEnd + 1][]byte // a launcher reads hundreds of lines a second
	fields := room[:0]
	for f := range bytes.FieldsSeq(line[shut+1:]) {
		if fields = append(fields, f); len(fields) == len(room) {
			break
		}
	}
	if len(fields) <= start || len(fields[state]) != 1 {
		return Proc{}, errors.New("parse stat: too few fields")
	}
	p := Proc{State: fields[state][0], Comm: string(line[open+1 : shut])}
	var errs [7]error
	p.PID, errs[0] = strconv.Atoi(string(bytes.TrimSpace(line[:open])))
	p.PPID, errs[1] = strconv.Atoi(string(fields[ppid]))
	p.Threads, errs[2] = strconv.Atoi(string(fields[threads]))
	p.Start, errs[3] = strconv.ParseUint(string(fields[start]), 10, 64)
	bits, err := strconv.ParseUint(string(fields[flags]), 10, 64)
	errs[4] = err
	user, err := strconv.ParseUint(string(fields[utime]), 10, 64)
	errs[5] = err
	system, err := strconv.ParseUint(string(fields[stime]), 10, 64)
	errs[6] = err
	p.Ticks = user + system
	p.Exiting = bits&exiting != 0 && p.Threads <= 1
	p.kernel = bits&kernelThread != 0
	if len(fields) > envEnd {
		p.env[0], _ = strconv.ParseUint(string(fields[envStart]), 10, 64)
		p.env[1], _ = strconv.ParseUint(string(fields[envEnd]), 10, 64)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return Proc{}, fmt.Errorf("parse stat: %w", err)
	}
	return p, nil
}

// lookup returns a variable from NUL-separated K=V records. The first one counts, as in getenv(3).
func lookup(environ []byte, name string) string {
	for len(environ) > 0 {
		record, rest, _ := bytes.Cut(environ, []byte{0})
		if len(record) > len(name) && record[len(name)] == '=' && string(record[:len(name)]) == name {
			return string(record[len(name)+1:])
		}
		environ = rest
	}
	return ""
}
