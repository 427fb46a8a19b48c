//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// chromium is the program of Debian's package.
const chromium = "/usr/bin/chromium"

// browser is a browser without a window. It speaks the Chrome DevTools Protocol over a pipe: JSON objects that
// end with a zero byte.
type browser struct {
	cmd *exec.Cmd
	dir string
	in  io.WriteCloser
	out io.ReadCloser

	mu      sync.Mutex
	next    int
	answers map[int]chan answer
	failed  error
	read    chan struct{} // closed when the browser says nothing more
	events  chan answer   // not read: dropped
}

// answer is a message from the browser: the answer to a call, or an event.
type answer struct {
	ID      int             `json:"id"`
	Method  string          `json:"method"`
	Session string          `json:"sessionId"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// open starts the browser.
func open(ctx context.Context) (*browser, error) {
	if _, err := os.Stat(chromium); err != nil {
		return nil, fmt.Errorf("find browser: %w\nhint: apt-get install -y --no-install-recommends chromium", err)
	}
	dir, err := os.MkdirTemp("", "mt")
	if err != nil {
		return nil, err
	}
	theirs, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, answers, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b := &browser{dir: dir, in: in, out: out, answers: map[int]chan answer{}, read: make(chan struct{}), events: make(chan answer, 10_000)}
	// Root cannot use the sandbox. The page is our own.
	b.cmd = exec.CommandContext(ctx, chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--remote-debugging-pipe", "--user-data-dir="+dir, "about:blank")
	b.cmd.ExtraFiles = []*os.File{theirs, answers}
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	b.cmd.Cancel = func() error { return syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL) }
	err = b.cmd.Start()
	theirs.Close()
	answers.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start browser: %w", err), os.RemoveAll(dir))
	}
	go b.listen()
	return b, nil
}

// close ends the browser, and waits for it.
func (b *browser) close() error {
	_ = b.cmd.Cancel()
	_ = b.cmd.Wait() // it was killed
	b.in.Close()
	<-b.read
	b.out.Close()
	return os.RemoveAll(b.dir)
}

// listen passes each message to the caller that waits for it.
func (b *browser) listen() {
	defer close(b.read)
	var rest []byte
	part := make([]byte, 1<<16)
	for {
		n, err := b.out.Read(part)
		rest = append(rest, part[:n]...)
		for {
			message, after, whole := bytes.Cut(rest, []byte{0})
			if !whole {
				break
			}
			rest = after
			var a answer
			if json.Unmarshal(message, &a) == nil {
				b.pass(a)
			}
		}
		if err != nil {
			b.mu.Lock()
			b.failed = fmt.Errorf("read from browser: %w", err)
			b.mu.Unlock()
			return
		}
	}
}

func (b *browser) pass(a answer) {
	if a.ID == 0 {
		select {
		case b.events <- a:
		default:
		}
		return
	}
	b.mu.Lock()
	to := b.answers[a.ID]
	delete(b.answers, a.ID)
	b.mu.Unlock()
	if to != nil {
		to <- a
	}
}

// call calls a method, and decodes its result into result unless that is nil.
func (b *browser) call(ctx context.Context, session, method string, params, result any) error {
	b.mu.Lock()
	b.next++
	id, to := b.next, make(chan answer, 1)
	b.answers[id] = to
	b.mu.Unlock()
	message := map[string]any{"id": id, "method": method, "params": params}
	if params == nil {
		message["params"] = struct{}{}
	}
	if session != "" {
		message["sessionId"] = session
	}
	text, err := json.Marshal(message)
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case a := <-to:
		if a.Error != nil {
			return fmt.Errorf("%s: %s", method, a.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(a.Result, result)
	case <-b.read:
		b.mu.Lock()
		defer b.mu.Unlock()
		return fmt.Errorf("%s: %w", method, b.failed)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

// drain returns what the events since the last drain tell of faults: errors, broken policies, and requests to
// anything but the page itself.
func (b *browser) drain(page string) (faults []string) {
	for {
		select {
		case e := <-b.events:
			text := string(e.Params)
			switch e.Method {
			case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled":
				faults = append(faults, e.Method+": "+text)
			case "Network.requestWillBeSent":
				var sent struct {
					Request struct {
						URL string `json:"url"`
					} `json:"request"`
				}
				if err := json.Unmarshal(e.Params, &sent); err != nil || sent.Request.URL != page && !strings.HasPrefix(sent.Request.URL, "data:,") {
					faults = append(faults, "it asks for "+sent.Request.URL)
				}
			}
		default:
			return faults
		}
	}
}
