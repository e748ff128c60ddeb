//go:build unix

package peer

import (
	"fmt"
	"net"
)

// BelongsTo returns an error unless the process at the other end belongs to user want.
func BelongsTo(c *net.UnixConn, want int) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	user, bad := -1, error(nil)
	if err := raw.Control(func(fd uintptr) { user, bad = uid(int(fd)) }); err != nil {
		return err
	}
	switch {
	case bad != nil:
		return fmt.Errorf("user at the other end unknown: %w", bad)
	case user != want:
		return fmt.Errorf("process at the other end belongs to user %d, want %d", user, want)
	}
	return nil
}
