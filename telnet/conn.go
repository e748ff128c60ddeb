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
	"time"

	"ptyctl/term"
)

// A Conn is a Telnet connection: a net.Conn that carries data, with the protocol below it. Read must be called again
// and again, for nothing is answered but by it. All methods may be called at the same time.
type Conn struct {
	nc     net.Conn
	config Config
	done   chan struct{} // closed by Close
	once   sync.Once
	fault  atomic.Pointer[term.Error] // of ours, that ended the connection
	wg     sync.WaitGroup             // our goroutines; guarded by mu against a start after closed

	// write is held while nc is written to. It is a channel because waiting for it must end with the connection.
	write chan struct{}
	owed  []byte // the rest of something that was written in part; guarded by write

	serialTurn chan struct{} // held during a request to a serial line, and a whole break

	// reading guards the following: the side of Read. It is taken before mu.
	reading sync.Mutex
	ahead   []byte // data that was decoded before it was asked for
	store   []byte // where ahead lies
	filling *fill  // a read of nc that was begun while negotiation settled
	readErr error  // what ended the stream

	mu       sync.Mutex // guards the following
	e        *engine
	stray    *strayMark // nil: urgent data reaches us as such
	flushing bool       // a goroutine writes what is pending
	closed   bool
	resizing *time.Timer // the size is told when it fires; nil: none is due
	lost     error       // what ended the stream, for those who do not read
}

// NewConn speaks Telnet over nc, which it then owns. It fails if the Config is wrong; nc is left alone then.
func NewConn(nc net.Conn, config Config) (*Conn, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	if tcp, ok := nc.(*net.TCPConn); ok {
		urgentInline(tcp)
	}
	c := &Conn{
		nc: nc, config: config, e: newEngine(config), done: make(chan struct{}),
		write: make(chan struct{}, 1), serialTurn: make(chan struct{}, 1),
	}
	if indirect(nc) {
		c.stray = new(strayMark)
	}
	c.flush()
	return c, nil
}

const (
	// storeSize is how much is read at a time for callers with a small buffer.
	storeSize = 4 << 10

	// direct is the size from which a caller's own buffer is read into.
	direct = 512
)

// A fill is one read of the connection below that nobody may be waiting for.
type fill struct {
	done chan struct{} // closed when n and err are there
	p    []byte
	n    int
	err  error
}

// Read returns data as soon as there is some. It answers what the server negotiates on the way.
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

// readAhead reads into ahead, which is empty. It requires c.reading.
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

// received takes the commands out of what was read. It returns the length of the data, and an error only if there is
// none. It requires c.reading.
func (c *Conn) received(p []byte, err error) (int, error) {
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

// take is received's part under c.mu, which a fault there gives up: the connection must still be closed. passing says
// that err is no end, looping that the server negotiates without one.
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
	if c.stray != nil && c.e.spoken && !c.e.on(him, Binary) {
		m := c.stray.remove(p[:n])
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
	if c.e.serial.asked {
		c.e.serial.asked = false
		c.e.answer(ComPort, append([]byte{comSignature}, signature...)...)
	}
	pending = c.e.pending()
	return n, passing, looping, err
}

// spawn runs f in a goroutine that Close waits for. A fault in it ends the connection, and nothing else. It requires
// c.mu, and that the connection is not closed.
func (c *Conn) spawn(f func()) {
	c.wg.Go(func() {
		defer func() {
			if p := recover(); p != nil { // what it says may hold anything, and is for the log alone
				c.fault.Store(
					&term.Error{
						Kind: term.Internal,
						Err:  fmt.Errorf("panic: %v\n%s", p, debug.Stack()),
						Msg:  "a fault in ptyctl ended this connection; open a new session, and report what the device was doing",
					},
				)
				_ = c.nc.Close()
			}
		}()
		f()
	})
}

func isTimeout(err error) bool {
	if err == nil {
		return false
	}
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// mustSpeak refuses to send a command to a server that has not spoken Telnet, or a connection that is closed.
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
		Op:   op,
		Kind: term.Unsupported,
		Msg:  "the far side has not spoken Telnet, so that a command would reach it as data; open the session with telnet.mode telnet if it does speak it",
	}
}

func errClosed(op string) error {
	return &term.Error{Op: op, Kind: term.AlreadyClosed, Err: net.ErrClosed, Msg: "the connection is closed"}
}

// Resize tells the size of the window, at most once in 50 ms, the last one in any case. A server that has not agreed
// to know it (RFC 1073) gets it when it does.
func (c *Conn) Resize(cols, rows int) error {
	if cols < 0 || rows < 0 || cols > maxCells || rows > maxCells {
		return term.Errorf(
			term.InvalidArgument,
			"a window of %d by %d characters cannot be told to a Telnet server; the most is %d",
			cols,
			rows,
			maxCells,
		)
	}
	c.mu.Lock()
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
			Msg:  "the server has not agreed to be told the size of the window (option naws); set it there, with stty or the device's own command",
		}
	}
	c.flush()
	return nil
}

// logoutGrace is how long a closing connection waits for the server to log out.
const logoutGrace = 250 * time.Millisecond

// Close ends the connection, and every call that waits for it.
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
		if err = closeSoon(c.nc); errors.Is(err, net.ErrClosed) { // negotiation without end has closed it before
			err = nil
		}
		c.wg.Wait()
	})
	return err
}

// Lost returns what ended the stream: nil while it goes on, io.EOF if the server closed it.
func (c *Conn) Lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.nc.LocalAddr() }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }

// SetDeadline implements net.Conn, as far as the connection below does.
func (c *Conn) SetDeadline(t time.Time) error { return c.nc.SetDeadline(t) }

// SetReadDeadline implements net.Conn, as far as the connection below does.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.nc.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn, as far as the connection below does. It also ends the writing of answers;
// what they lack goes out with the next Write.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.nc.SetWriteDeadline(t) }

var (
	_ net.Conn  = (*Conn)(nil)
	_ io.Reader = (*Conn)(nil)
)
