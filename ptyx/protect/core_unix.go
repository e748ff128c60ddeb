//go:build unix

package protect

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// core is this process's limit on the size of a core file, which it has lowered for
// itself.
var core struct {
	mu       sync.Mutex // guards the following; held while a program gets the limit
	withheld bool
	had      unix.Rlimit
}

// withholdCore prevents this process from writing a core file, which would contain
// its memory.
func withholdCore() error {
	core.mu.Lock()
	defer core.mu.Unlock()
	if core.withheld {
		return nil
	}
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &core.had); err != nil {
		return fmt.Errorf("getrlimit(RLIMIT_CORE): %w", err)
	}
	none := core.had
	none.Cur = 0
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &none); err != nil {
		return fmt.Errorf("setrlimit(RLIMIT_CORE): %w", err)
	}
	core.withheld = true
	return nil
}

// WithCore calls f, which starts a program, under the original limit, because the
// program should have it.
func WithCore(f func() error) error {
	core.mu.Lock()
	defer core.mu.Unlock()
	if !core.withheld || core.had.Cur == 0 {
		return f()
	}
	none := core.had
	none.Cur = 0
	if unix.Setrlimit(unix.RLIMIT_CORE, &core.had) == nil {
		defer func() { _ = unix.Setrlimit(unix.RLIMIT_CORE, &none) }()
	}
	return f()
}
