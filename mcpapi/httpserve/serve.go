package httpserve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Times of a shutdown: calls may continue for callsGrace, and may take endGrace to end
// after they are canceled.
const (
	callsGrace = time.Second
	endGrace   = time.Second
)

// Listen opens a TCP port. Without tokens it refuses every address except loopback,
// before it listens: every user of the network could otherwise open terminals.
func Listen(address string, tokens bool) (net.Listener, error) {
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w; give HOST:PORT, such as 127.0.0.1:8765", address, err)
	}
	if !addr.IP.IsLoopback() && !tokens {
		return nil, fmt.Errorf("will not listen on %s without a token: users of other machines could reach it; "+
			"set tokens (server.http.tokens_file), or listen on 127.0.0.1", address)
	}
	network := "tcp"
	if addr.IP.To4() != nil {
		network = "tcp4" // otherwise 0.0.0.0 would also mean every IPv6 address
	}
	ln, err := net.ListenTCP(network, addr)
	if err != nil {
		return nil, fmt.Errorf("%w; choose another address (server.http.listen, --listen)", err)
	}
	return ln, nil
}

// Serve answers requests on ln until ctx ends, and closes ln. At the end it closes the
// streams, gives calls a second to finish and another second after their cancellation,
// and returns nil. It returns an error if it cannot accept connections.
func (h *Handler) Serve(ctx context.Context, ln net.Listener) error {
	ln = newConnections(ln, h.o.MaxCalls)
	most := maxHeader
	if h.o.Operator {
		most = operatorHeader
	}
	srv := &http.Server{
		ConnContext: withConnection,
		Handler:     h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: most,
		ErrorLog: slog.NewLogLogger(h.o.Logger.Handler(), slog.LevelDebug), // mistakes of clients
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	select {
	case err := <-failed:
		h.Close()
		h.endCalls(errShutdown)
		return errors.Join(
			fmt.Errorf("accept connections on %s: %w; start the server again", ln.Addr(), err),
			srv.Close(),
		)
	case <-ctx.Done():
	}
	h.Close()
	if !stopped(srv, callsGrace) {
		h.endCalls(errShutdown)
		if !stopped(srv, endGrace) {
			h.o.Logger.Warn("requests ignored their cancellation and were abandoned")
		}
	}
	if err := srv.Close(); err != nil { // connections of abandoned requests; the listener is closed already
		h.o.Logger.Debug("closing connections", "error", err)
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		h.o.Logger.Debug("accepting connections", "error", err)
	}
	return nil
}

// stopped shuts srv down and reports whether all requests were done within d.
func stopped(srv *http.Server, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return srv.Shutdown(ctx) == nil
}

// Loopback reports whether only users of this machine can reach an address. That is true
// for every address that is not TCP, for example a Unix socket.
func Loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}
