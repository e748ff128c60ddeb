package httpserve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// connections is how many there may be for each call that may be served at a time, those included that have not sent a
// request yet. More wait for one to end.
const connections = 8

// How long calls may go on when the server is told to stop, and how long they may take to end when they are told, too.
const (
	callsGrace = time.Second
	endGrace   = time.Second
)

// Listen opens a TCP port. Without tokens it refuses every address but this machine's own, before it listens.
func Listen(address string, tokens bool) (net.Listener, error) {
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w; give HOST:PORT, such as 127.0.0.1:8765", address, err)
	}
	if !addr.IP.IsLoopback() && !tokens {
		return nil, fmt.Errorf("will not listen on %s without a token, since others than this machine's users can reach it; "+
			"give it tokens (server.http.tokens_file), or listen on 127.0.0.1", address)
	}
	network := "tcp"
	if addr.IP.To4() != nil {
		network = "tcp4" // otherwise 0.0.0.0 would be every IPv6 address too
	}
	ln, err := net.ListenTCP(network, addr)
	if err != nil {
		return nil, fmt.Errorf("%w; choose another address (server.http.listen, --listen)", err)
	}
	return ln, nil
}

// Serve answers requests on ln, which it closes, until ctx ends. It then ends the streams, gives calls a second to be
// done and another to be canceled, and returns nil.
func (h *Handler) Serve(ctx context.Context, ln net.Listener) error {
	ln = netutil.LimitListener(ln, connections*h.o.MaxCalls)
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(h.o.Logger.Handler(), slog.LevelDebug), // what clients do wrong
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	select {
	case err := <-failed:
		h.Close()
		h.endCalls(errShutdown)
		return errors.Join(fmt.Errorf("accept connections on %s: %w; start the server again", ln.Addr(), err), srv.Close())
	case <-ctx.Done():
	}
	h.Close()
	if !stopped(srv, callsGrace) {
		h.endCalls(errShutdown)
		if !stopped(srv, endGrace) {
			h.o.Logger.Warn("requests ignored their cancellation and were abandoned")
		}
	}
	if err := srv.Close(); err != nil { // of connections that nobody waits for; the listener is closed already
		h.o.Logger.Debug("closing connections", "error", err)
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		h.o.Logger.Debug("accepting connections", "error", err)
	}
	return nil
}

// stopped reports whether the server has nothing more to do, within d.
func stopped(srv *http.Server, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return srv.Shutdown(ctx) == nil
}

// Loopback reports whether only this machine's users can reach an address.
func Loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}
