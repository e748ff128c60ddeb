package control

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"ptyctl/internal/rundir"
)

// settle is the time between a change of the folder and a listening socket: the socket file exists a moment earlier.
const settle = 200 * time.Millisecond

// A Coming says when control sockets of this user come and go, as the system reports changes of their folders.
type Coming struct {
	// C gets a token when the result of Sockets may have changed. Changes before the token is read add no further token.
	C <-chan struct{}

	c       chan struct{}
	watcher *fsnotify.Watcher
	paths   map[string]bool // of sockets elsewhere
	dir     string          // of all others
	done    chan struct{}
}

// NewComing begins to look, also at sockets with a path of the operator's. Close ends it. It fails where the system
// reports nothing, for example because this user looks at too many folders already.
func NewComing(paths ...string) (*Coming, error) {
	dir, err := rundir.Dir()
	if err == nil {
		err = rundir.Own(dir) // which is not there before the first process
	}
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	folders := map[string]bool{dir: true}
	c := &Coming{c: make(chan struct{}, 1), watcher: w, paths: make(map[string]bool), dir: dir, done: make(chan struct{})}
	c.C = c.c
	for _, path := range paths {
		if path != "" {
			c.paths[path], folders[filepath.Dir(path)] = true, true
		}
	}
	for folder := range folders {
		if err := w.Add(folder); err != nil && folder == dir { // one of the operator's may not be there yet
			_ = w.Close()
			return nil, fmt.Errorf("control: %s cannot be watched: %w", folder, err)
		}
	}
	go c.run()
	return c, nil
}

// Close ends it, and waits for that.
func (c *Coming) Close() {
	_ = c.watcher.Close()
	<-c.done
}

func (c *Coming) run() {
	defer close(c.done)
	again := time.NewTimer(settle)
	again.Stop()
	defer again.Stop()
	for {
		select {
		case e, open := <-c.watcher.Events:
			if !open {
				return
			}
			if c.about(e.Name) {
				c.tell()
				again.Reset(settle)
			}
		case _, open := <-c.watcher.Errors: // more changes than the system could report
			if !open {
				return
			}
			c.tell()
		case <-again.C:
			c.tell()
		}
	}
}

// about reports whether a file can be a control socket.
func (c *Coming) about(name string) bool {
	return c.paths[name] || filepath.Dir(name) == c.dir && strings.HasSuffix(name, suffix)
}

func (c *Coming) tell() {
	select {
	case c.c <- struct{}{}:
	default:
	}
}
