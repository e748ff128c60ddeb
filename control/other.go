//go:build !unix

package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
)

// errNone says why nothing of this works here.
var errNone = fmt.Errorf(
	"control: the control socket is not offered on this system: it has no Unix socket whose user the kernel vouches for; ptyctl itself works without: %w",
	errors.ErrUnsupported,
)

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
