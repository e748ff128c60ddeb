//go:build !unix

package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
)

// errNone is the error of all functions on this system.
var errNone = fmt.Errorf("control: no control socket on this system: the kernel cannot identify the user of a Unix "+
	"socket; ptyctl works without it: %w", errors.ErrUnsupported)

// Path fails.
func Path(int) (string, error) { return "", errNone }

// Listen fails.
func Listen(string, *slog.Logger) (net.Listener, error) { return nil, errNone }

// Sockets fails.
func Sockets() ([]Socket, error) { return nil, errNone }

func dial(context.Context, string) (net.Conn, error) { return nil, errNone }

// InUseError says that another process serves the socket.
type InUseError struct{ Path string }

func (e *InUseError) Error() string { return "another process serves " + e.Path }

// Connect fails.
func Connect(context.Context, string) (net.Conn, error) { return nil, errNone }

// Inherited fails.
func Inherited(net.Listener, *slog.Logger) (net.Listener, error) { return nil, errNone }

// Vacate fails.
func Vacate(string) error { return errNone }

// PeerPID returns 0.
func PeerPID(net.Conn) (int, error) { return 0, nil }

// CheckPeer never calls check.
func CheckPeer(net.Conn, func(int) error) error { return nil }
