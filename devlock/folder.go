package devlock

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"

	"ptyctl/internal/rundir"
)

// A FolderStore is the Store of the processes of this user on this machine: see Acquire. Make it with Folder.
//
// Its leases last until Release or the end of the process, whichever comes first, because the kernel holds the locks.
// So Renew always succeeds until then, the tokens are 0, and no answer is stale.
type FolderStore struct {
	dir string // empty: the default

	mu    sync.Mutex // guards the following
	locks map[*Lease]*Lock
}

// Folder returns the Store of the locks in dir, which is created by the first Acquire. An empty dir is DefaultDir.
func Folder(dir string) *FolderStore { return &FolderStore{dir: dir, locks: make(map[*Lease]*Lock)} }

// folder returns the folder of the locks.
func (f *FolderStore) folder() (string, error) {
	if f.dir != "" {
		return f.dir, nil
	}
	return DefaultDir()
}

// Acquire implements Store.
func (f *FolderStore) Acquire(ctx context.Context, device string, o Owner) (*Lease, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("devlock: device %q was not acquired: %w", device, err)
	}
	dir, err := f.folder()
	if err != nil {
		return nil, err
	}
	lock, err := Acquire(dir, device, o)
	if err != nil {
		return nil, err
	}
	l := NewLease(device, o, 0)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.locks[l] = lock
	return l, nil
}

// Renew implements Store. It has nothing to do.
func (f *FolderStore) Renew(_ context.Context, l *Lease) error { return l.Check() }

// Release implements Store. It never blocks.
func (f *FolderStore) Release(_ context.Context, l *Lease) error {
	l.End(l.Released()) // before another can have the device
	f.mu.Lock()
	lock := f.locks[l]
	delete(f.locks, l)
	f.mu.Unlock()
	if lock != nil {
		lock.Release()
	}
	return nil
}

// Lookup implements Store.
func (f *FolderStore) Lookup(ctx context.Context, device string) (Holding, error) {
	if err := context.Cause(ctx); err != nil {
		return Holding{}, fmt.Errorf("devlock: %w", err)
	}
	dir, err := f.folder()
	if err != nil {
		return Holding{}, err
	}
	owner, held, err := look(dir, device)
	return Holding{Device: device, Held: held, Owner: owner}, err
}

// Watch implements Store. The system reports changes of the folder, and so each Acquire and Release. It does not report
// that the kernel has freed the lock of a process that was killed: that is seen with the next change of the folder, by
// Lookup and by Acquire.
func (f *FolderStore) Watch(ctx context.Context, device string) (<-chan Holding, error) {
	dir, err := f.folder()
	if err != nil {
		return nil, err
	}
	if err := rundir.Own(dir); err != nil {
		return nil, fmt.Errorf("devlock: %w", err)
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("devlock: %w", err)
	}
	err = w.Add(dir)
	var now Holding
	if err == nil { // watched first and looked at then: what changes between the two is seen
		now, err = f.Lookup(ctx, device)
	}
	if err != nil {
		_ = w.Close()
		return nil, fmt.Errorf("devlock: %s: %w", dir, err)
	}
	states := make(chan Holding, 1)
	states <- now
	go f.follow(ctx, w, device, now, states)
	return states, nil
}

// follow sends the changes after now until ctx ends. It owns w and states; the receiver waits for it.
func (f *FolderStore) follow(ctx context.Context, w *fsnotify.Watcher, device string, now Holding, states chan Holding) {
	defer close(states)
	defer w.Close()
	name := fileName(device)
	for {
		select {
		case e := <-w.Events:
			if filepath.Base(e.Name) != name {
				continue
			}
		case err := <-w.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) { // events were lost, but each look shows the present state
				return
			}
		case <-ctx.Done():
			return
		}
		next, err := f.Lookup(ctx, device)
		switch {
		case err != nil:
			return
		case next == now:
			continue
		}
		now = next
		select { // what was not received is outdated
		case <-states:
		default:
		}
		states <- now
	}
}
