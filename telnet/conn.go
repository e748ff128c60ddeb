package telnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ptyctl/telnet/loss"
	"ptyctl/telnet/urgent"
	"ptyctl/term"
)

// A Conn is a Telnet connection: a net.Conn that carries data and handles the protocol below
// it. The caller must keep calling Read, because only Read answers the server's negotiation.
// All methods may be called concurrently.
type Conn struct {
	nc     net.Conn
	config Config
	done   chan struct{} // closed by Close
	once   sync.Once
	fault  atomic.Pointer[term.Error] // a bug in this package that ended the connection
	wg     sync.WaitGroup             // the goroutines of this Conn; spawn only with mu held and closed false

	// write is held while nc is written to. It is a channel, because waiting for it must end
	// with the connection.
	write  chan struct{}
	unsent []byte // the rest of a partly written message; guarded by write

	com comPort

	// reading guards the following state of Read. It must be taken before mu.
	reading sync.Mutex
	ahead   []byte // decoded data not yet returned by Read
	store   []byte // the memory of ahead
	filling *fill  // a read of nc started by Settle and still in progress
	readErr error  // the error that ended the stream

	mu       sync.Mutex // guards the following
	e        *engine
	stray    *urgent.StrayDataMark // nil on a direct TCP connection, which delivers urgent data
	flushing bool                  // a goroutine is writing pending commands
	closed   bool
	resizing *time.Timer // sends the window size when it fires; nil if none is due
	lost     error       // the error that ended the stream, for Lost
}

// NewConn speaks Telnet over nc and takes ownership of it. It returns an error for an invalid
// Config; then nc stays with the caller.
func NewConn(nc net.Conn, config Config) (*Conn, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	if tcp, ok := nc.(*net.TCPConn); ok {
		// Without this the kernel removes a byte from the answer to an interrupt.
		urgent.Inline(tcp)
	}
	loss.Notice(nc, config.lossLimit)
	c := &Conn{
		nc: nc, config: config, e: newEngine(config), done: make(chan struct{}),
		write: make(chan struct{}, 1),
	}
	c.com = comPort{c, make(chan struct{}, 1)}
	if urgent.Indirect(nc) {
		c.stray = new(urgent.StrayDataMark)
	}
	c.flush()
	return c, nil
}

const (
	// storeSize is the size of a read for a caller with a small buffer.
	storeSize = 4 << 10

	// direct is the smallest buffer of a caller that nc is read into directly.
	direct = 512
)

// A fill is one read of the underlying connection that may outlive its caller.
type fill struct {
	done chan struct{} // closed when n and err are set
	p    []byte
	n    int
	err  error
}

// Read returns data as soon as there is some, and answers the server's negotiation on the
// way.
func (c *Conn) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	for len(p) > 0 {
		if len(c.ahead) > 0 {
			n := copy(p, c.ahead)
			c.ahead = c.ahead[n:]
			return n, nil
		}
		if c.readErr != nil {
			return 0, c.readErr
		}
		if c.filling == nil && len(p) >= direct {
			n, err := c.nc.Read(p)
			if n, err = c.received(p[:n], err); n > 0 || err != nil {
				return n, err
			}
			continue
		}
		if err := c.readAhead(); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// readAhead reads into ahead, which must be empty. The caller must hold c.reading.
func (c *Conn) readAhead() error {
	if f := c.filling; f != nil {
		<-f.done
		c.filling = nil
		n, err := c.received(f.p[:f.n], f.err)
		c.ahead = f.p[:n]
		return err
	}
	if c.store == nil {
		c.store = make([]byte, storeSize)
	}
	n, err := c.nc.Read(c.store)
	n, err = c.received(c.store[:n], err)
	c.ahead = c.store[:n]
	return err
}

// received removes the commands from the bytes of a read. It returns the length of the data,
// and an error only without data. The caller must hold c.reading.
func (c *Conn) received(p []byte, err error) (int, error) {
	// A panic closes nc; its report is the real reason for the failed read.
	if fault := c.fault.Load(); fault != nil && err != nil {
		err = fault
	}
	n, passing, looping, err := c.take(p, err)
	if looping {
		_ = closeSoon(c.nc)
	}
	if err != nil && !passing {
		c.readErr = err
	}
	if n > 0 {
		return n, nil
	}
	return 0, err
}

// take is the part of received that holds c.mu. It is a function of its own, so that a panic
// releases c.mu and the connection can still be closed. passing means that err does not end
// the stream; looping means that the server negotiates without end.
func (c *Conn) take(p []byte, err error) (n int, passing, looping bool, _ error) {
	pending := false
	defer func() {
		if pending && (err == nil || passing) {
			c.flush()
		}
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	n = c.e.receive(p)
	if c.stray != nil && c.e.spoken && !c.e.on(them, Binary) {
		m := c.stray.Remove(p[:n])
		c.e.malformed += int64(n - m)
		n = m
	}
	looping = c.e.err != nil && err == nil
	if looping {
		err = c.e.err
	}
	passing = isTimeout(err)
	if err != nil && !passing {
		c.e.end()
		c.lost = err
	}
	// The answer needs c.e, which serial does not know.
	if c.e.serial.asked {
		c.e.serial.asked = false
		c.e.answer(ComPort, append([]byte{comSignature}, signature...)...)
	}
	pending = c.e.pending()
	return n, passing, looping, err
}

// spawn runs f in a goroutine that Close waits for. A panic in it ends this connection only.
// The caller must hold c.mu, and c.closed must be false.
func (c *Conn) spawn(f func()) {
	c.wg.Go(func() {
		defer func() {
			if p := recover(); p != nil { // its text may contain secrets, so it goes to the log only
				c.fault.Store(
					&term.Error{
						Kind: term.Internal,
						Err:  fmt.Errorf("panic: %v\n%s", p, debug.Stack()),
						Msg: "a fault in ptyctl ended this connection; " +
							"open a new session, and report the device's last output",
					},
				)
				_ = c.nc.Close()
			}
		}()
		f()
	})
}

// isTimeout reports whether err is a deadline, after which the stream can continue. The end of a
// connection to a dead network (ETIMEDOUT) calls itself a timeout, too, but ends the stream.
func isTimeout(err error) bool {
	if err == nil || errors.Is(err, syscall.ETIMEDOUT) {
		return false
	}
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// mustSpeak returns an error if the server has not spoken Telnet, because it would read a
// command as data, or if the connection is closed.
func (c *Conn) mustSpeak(op string) error {
	select {
	case <-c.done:
		return errClosed(op)
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.e.spoken && c.config.Mode != ModeRaw {
		return nil
	}
	return &term.Error{
		Op:     op,
		Kind:   term.Unsupported,
		Reason: term.ReasonTelnetSilent,
		Msg:    "the far side has not spoken Telnet, so that a command would reach it as data",
		Advice: "use ModeTelnet if it does speak it",
	}
}

// errClosed returns the error of an operation on a closed connection.
func errClosed(op string) error {
	return &term.Error{Op: op, Kind: term.AlreadyClosed, Err: net.ErrClosed, Msg: "the connection is closed"}
}

// Resize sends the size of the window, at most once in 50 ms; the last size of a series is
// always sent. If the server has not agreed to receive sizes (RFC 1073), Resize returns an
// error, and the size is sent when it agrees.
func (c *Conn) Resize(cols, rows int) error {
	if cols < 0 || rows < 0 || cols > maxCells || rows > maxCells {
		return term.Errorf(
			term.InvalidArgument,
			"a window of %d by %d characters is invalid for Telnet; the limit is %d",
			cols,
			rows,
			maxCells,
		)
	}
	c.mu.Lock()
	// A timer sends the last size of a series; sizes in between are skipped.
	wait, ok := c.e.resize(cols, rows)
	if ok && wait > 0 && c.resizing == nil && !c.closed {
		c.wg.Add(1)
		c.resizing = time.AfterFunc(wait, func() {
			defer c.wg.Done()
			c.mu.Lock()
			c.e.sizeDue = c.e.on(us, NAWS)
			c.resizing = nil
			c.mu.Unlock()
			c.flush()
		})
	}
	c.mu.Unlock()
	if !ok {
		return &term.Error{
			Op:   "resize",
			Kind: term.Unsupported,
			Msg: "the server does not accept the size of the window (option naws); " +
				"set it there, with stty or the device's own command",
		}
	}
	c.flush()
	return nil
}

// logoutGrace is how long Close waits for the server's answer to a logout.
const logoutGrace = 250 * time.Millisecond

// Close ends the connection and every call that waits for it. It waits for the goroutines of
// the Conn.
func (c *Conn) Close() error {
	var err error
	c.once.Do(func() {
		if c.config.LogoutOnClose {
			ctx, cancel := context.WithTimeout(context.Background(), logoutGrace)
			_ = c.Logout(ctx)
			cancel()
		}
		c.mu.Lock()
		c.closed = true
		if c.resizing != nil && c.resizing.Stop() {
			c.wg.Done()
		}
		c.mu.Unlock()
		close(c.done)
		if err = closeSoon(c.nc); errors.Is(err, net.ErrClosed) { // received has closed it after endless negotiation
			err = nil
		}
		c.wg.Wait()
	})
	return err
}

// Lost returns the error that ended the stream: nil while it continues, io.EOF if the server
// closed it.
func (c *Conn) Lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.nc.LocalAddr() }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }

// SetDeadline implements net.Conn, within the limits of the underlying connection.
func (c *Conn) SetDeadline(t time.Time) error { return c.nc.SetDeadline(t) }

// SetReadDeadline implements net.Conn, within the limits of the underlying connection.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.nc.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn, within the limits of the underlying connection. It
// also ends the writing of answers; the next Write sends their rest first.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.nc.SetWriteDeadline(t) }

var (
	_ net.Conn  = (*Conn)(nil)
	_ io.Reader = (*Conn)(nil)
)
