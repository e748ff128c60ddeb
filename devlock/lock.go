package devlock

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ptyctl/internal/rundir"
)

// DefaultDir returns the folder of this user's device locks, which is in the user's
// runtime folder.
func DefaultDir() (string, error) {
	dir, err := rundir.Dir()
	if err != nil {
		return "", fmt.Errorf("devlock: %w", err)
	}
	return filepath.Join(dir, "devices"), nil
}

// An Owner describes the owner of a device.
type Owner struct {
	Node    string    `json:"node,omitempty"` // of a cluster; empty: this machine
	PID     int       `json:"pid"`
	Socket  string    `json:"socket,omitempty"` // control socket of the owner; empty: none
	Session string    `json:"session,omitempty"`
	Started time.Time `json:"started"`
}

// record is the content of a device's file. It includes the device's name for people who
// look into the folder.
type record struct {
	Device string `json:"device"`
	Owner
}

// maxRecord is more than the size of any record in bytes.
const maxRecord = 16 << 10

// A Lock is the ownership of a device. It lasts until Release or the end of the process.
type Lock struct {
	dir, path string
	device    string

	mu   sync.Mutex // guards the following
	file *os.File   // nil once released
}

// Acquire makes o the owner of the device among all processes that use the folder dir,
// which is created if necessary. It does not wait for another owner; the error is then a
// *HeldError.
func Acquire(dir, device string, o Owner) (*Lock, error) {
	if err := rundir.Own(dir); err != nil {
		return nil, fmt.Errorf("devlock: %w", err)
	}
	leave, err := rundir.Enter(dir)
	if err != nil {
		return nil, fmt.Errorf("devlock: %w", err)
	}
	defer leave()
	l := &Lock{dir: dir, device: device, path: filepath.Join(dir, fileName(device))}
	if l.file, err = rundir.Open(l.path); err != nil {
		return nil, fmt.Errorf("devlock: %w", err)
	}
	if err = rundir.TryLock(l.file); err == nil {
		if err = l.write(o); err == nil {
			return l, nil
		}
	}
	if errors.Is(err, rundir.ErrHeld) {
		err = &HeldError{Device: device, Owner: l.read()}
	} else {
		err = fmt.Errorf("devlock: %s: %w", l.path, err)
	}
	_ = l.file.Close() // this also releases the lock, if it was taken
	return nil, err
}

// Holder returns the owner of a device, if it has one. It makes nobody wait longer than Acquire does, and owns nothing
// afterwards.
func Holder(dir, device string) (owner Owner, held bool) {
	owner, held, err := look(dir, device)
	return owner, held && err == nil
}

// look is Holder with the reason why that is not known. It keeps nobody from the device, because it has the lock only
// within the gate.
func look(dir, device string) (owner Owner, held bool, err error) {
	l := &Lock{dir: dir, device: device, path: filepath.Join(dir, fileName(device))}
	if _, err := os.Lstat(l.path); errors.Is(err, fs.ErrNotExist) {
		return Owner{}, false, nil
	}
	if err := rundir.Own(dir); err != nil {
		return Owner{}, false, fmt.Errorf("devlock: %w", err)
	}
	leave, err := rundir.Enter(dir)
	if err != nil {
		return Owner{}, false, fmt.Errorf("devlock: %w", err)
	}
	defer leave()
	if l.file, err = rundir.Open(l.path); err != nil {
		return Owner{}, false, fmt.Errorf("devlock: %w", err)
	}
	err = rundir.TryLock(l.file)
	if errors.Is(err, rundir.ErrHeld) {
		owner, held, err = l.read(), true, nil
	}
	_ = l.file.Close() // this also releases the lock, if it was taken
	switch {
	case err != nil:
		err = fmt.Errorf("devlock: %s: %w", l.path, err)
	case !held: // of an owner that was killed
		_ = os.Remove(l.path)
	}
	return owner, held, err
}

// Update changes the information about the owner.
func (l *Lock) Update(o Owner) error {
	leave, err := rundir.Enter(l.dir)
	if err != nil {
		return fmt.Errorf("devlock: %w", err)
	}
	defer leave()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return fmt.Errorf("devlock: device %q was released; acquire it again", l.device)
	}
	return l.write(o)
}

// Release gives up the device. It never blocks and may be called again.
func (l *Lock) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return
	}
	// Within the gate no other process has the file open, so it may be removed. Otherwise it
	// stays for the next owner.
	if leave, err := rundir.TryEnter(l.dir); err == nil {
		defer leave()
		defer func() { _ = os.Remove(l.path) }()
	}
	_ = l.file.Close()
	l.file = nil
}

// write replaces the content of the file. Requires the gate and the lock.
func (l *Lock) write(o Owner) error {
	text, err := json.Marshal(record{l.device, o})
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err = l.file.WriteAt(append(text, '\n'), 0)
	return err
}

// read returns the owner that the file names. Requires the gate and that the file is
// locked.
func (l *Lock) read() Owner {
	text, err := io.ReadAll(io.NewSectionReader(l.file, 0, maxRecord))
	var r record
	if err != nil || json.Unmarshal(text, &r) != nil {
		return Owner{}
	}
	return r.Owner
}

// fileName returns the name of a device's file. A device may have any name, for example
// one with slashes, so the name is hashed.
func fileName(device string) string {
	sum := sha256.Sum256([]byte(device))
	return hex.EncodeToString(sum[:16]) + ".lock"
}
