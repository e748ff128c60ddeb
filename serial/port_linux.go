package serial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ptyctl/term"
)

// A port is a line that is open. Its file does not block: the runtime's poller waits for the device, so that Close wakes
// Read and Write.
type port struct {
	file  *os.File
	baud  int
	bits  int // of a character, with its start, parity and stop bits
	close sync.Once
}

// speeds are those that have a number of their own (termios(3)). Any other is set as it is, if the driver can.
var speeds = map[int]uint32{
	50: unix.B50, 75: unix.B75, 110: unix.B110, 134: unix.B134, 150: unix.B150, 200: unix.B200, 300: unix.B300,
	600: unix.B600, 1200: unix.B1200, 1800: unix.B1800, 2400: unix.B2400, 4800: unix.B4800, 9600: unix.B9600,
	19200: unix.B19200, 38400: unix.B38400, 57600: unix.B57600, 115200: unix.B115200, 230400: unix.B230400,
	460800: unix.B460800, 500000: unix.B500000, 576000: unix.B576000, 921600: unix.B921600, 1000000: unix.B1000000,
	1152000: unix.B1152000, 1500000: unix.B1500000, 2000000: unix.B2000000, 2500000: unix.B2500000,
	3000000: unix.B3000000, 3500000: unix.B3500000, 4000000: unix.B4000000,
}

// openPort opens the device and sets it. doubts name each setting that was not taken.
func openPort(device string, o term.SerialOptions) (p *port, doubts []string, err error) {
	f, err := openDevice(device)
	if err != nil {
		return nil, nil, err
	}
	p = &port{file: f, baud: o.Baud, bits: 1 + o.DataBits + o.StopBits}
	if o.Parity != "none" {
		p.bits++
	}
	if doubts, err = p.set(o); err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return p, doubts, nil
}

// openDevice opens a device by its path without links. The path may lead elsewhere since the check, for example by a
// link in place of a folder, and opening some devices has side effects. So openDevice first gets a descriptor that
// opens nothing (O_PATH, open(2)), checks that it is a line of that path, and then opens it.
func openDevice(device string) (*os.File, error) {
	held, err := os.OpenFile(device, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer held.Close()
	info, err := held.Stat()
	if err != nil {
		return nil, err
	}
	self := fmt.Sprintf("/proc/self/fd/%d", held.Fd())
	is, err := os.Readlink(self)
	switch {
	case err != nil:
		return nil, err
	case is == device+" (deleted)":
		return nil, &fs.PathError{Op: "open", Path: device, Err: unix.ENOENT}
	case is != device || info.Mode()&fs.ModeCharDevice == 0 || otherKind(info.Sys().(*syscall.Stat_t).Rdev) != "":
		return nil, fmt.Errorf("%s has become another device meanwhile", device)
	}
	for {
		// Without blocking, for the carrier of a modem would be waited for.
		fd, err := unix.Open(self, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), device), nil
		case !errors.Is(err, unix.EINTR):
			return nil, &fs.PathError{Op: "open", Path: device, Err: err}
		}
	}
}

// control calls f with the descriptor, which stays open meanwhile.
func (p *port) control(f func(fd int) error) error {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}

// set sets the line: raw, with the settings of o, and DTR and RTS.
func (p *port) set(o term.SerialOptions) (doubts []string, err error) {
	err = p.control(func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
		if err != nil {
			return err
		}
		apply(t, o)
		if err := unix.IoctlSetTermios(fd, unix.TCSETS2, t); err != nil {
			return err
		}
		// A driver sets what it supports and reports no error (tcsetattr(3)).
		is, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
		if err != nil {
			return err
		}
		doubts = differences(t, is, o)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, s := range []struct {
		name, want string
		bit        int
	}{{"DTR", o.DTR, unix.TIOCM_DTR}, {"RTS", o.RTS, unix.TIOCM_RTS}} {
		if s.want != "on" && s.want != "off" {
			continue
		}
		if err := p.control(func(fd int) error {
			request := uint(unix.TIOCMBIS)
			if s.want == "off" {
				request = unix.TIOCMBIC
			}
			return unix.IoctlSetPointerInt(fd, request, s.bit)
		}); err != nil {
			doubts = append(doubts, fmt.Sprintf("%s was not set: the line has none that could be (%v)", s.name, err))
		}
	}
	return doubts, nil
}

// apply changes the settings of a line to raw, as cfmakeraw(3), and to o.
func apply(t *unix.Termios, o term.SerialOptions) {
	t.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IUCLC |
		unix.IXON | unix.IXOFF | unix.IXANY | unix.INPCK
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	t.Cflag &^= unix.CSIZE | unix.PARENB | unix.PARODD | unix.CMSPAR | unix.CSTOPB | unix.CRTSCTS | unix.CBAUD |
		unix.CBAUD<<unix.IBSHIFT
	t.Cflag |= unix.CREAD | unix.CLOCAL
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	t.Cflag |= map[int]uint32{5: unix.CS5, 6: unix.CS6, 7: unix.CS7, 8: unix.CS8}[o.DataBits]
	t.Cflag |= map[string]uint32{
		"odd": unix.PARENB | unix.PARODD, "even": unix.PARENB,
		"mark": unix.PARENB | unix.PARODD | unix.CMSPAR, "space": unix.PARENB | unix.CMSPAR,
	}[o.Parity]
	if o.StopBits == 2 {
		t.Cflag |= unix.CSTOPB
	}
	switch o.Flow {
	case "rtscts":
		t.Cflag |= unix.CRTSCTS
	case "xonxoff":
		t.Iflag |= unix.IXON | unix.IXOFF
	}
	if o.DTR == "keep" { // the last close must not lower it
		t.Cflag &^= unix.HUPCL
	}
	if code, ok := speeds[o.Baud]; ok {
		t.Cflag |= code
	} else {
		t.Cflag |= unix.BOTHER
	}
	t.Ispeed, t.Ospeed = uint32(o.Baud), uint32(o.Baud)
}

// differences says which of the settings the driver has not taken.
func differences(want, is *unix.Termios, o term.SerialOptions) (doubts []string) {
	const parity = unix.PARENB | unix.PARODD | unix.CMSPAR
	for _, f := range []struct {
		name      string
		differs   bool
		requested any
	}{
		{"speed", off(is.Ospeed, uint32(o.Baud)), o.Baud},
		{"data bits", want.Cflag&unix.CSIZE != is.Cflag&unix.CSIZE, o.DataBits},
		{"parity", want.Cflag&parity != is.Cflag&parity, o.Parity},
		{"stop bits", want.Cflag&unix.CSTOPB != is.Cflag&unix.CSTOPB, o.StopBits},
		{"flow control", want.Cflag&unix.CRTSCTS != is.Cflag&unix.CRTSCTS, o.Flow},
	} {
		if f.differs {
			doubts = append(doubts, fmt.Sprintf("the line did not take the %s %v", f.name, f.requested))
		}
	}
	return doubts
}

// off reports whether a speed is another than the one wanted, by more than the two percent that no divisor reaches.
func off(is, want uint32) bool { return max(is, want)-min(is, want) > want/50 }

// signals are the lines of the far side that are on; nil: they are not known, as those of a pseudo-terminal.
func (p *port) signals() []string {
	var state int
	if err := p.control(func(fd int) (err error) {
		state, err = unix.IoctlGetInt(fd, unix.TIOCMGET)
		return err
	}); err != nil {
		return nil
	}
	on := []string{}
	for _, s := range []struct {
		name string
		bit  int
	}{{"cts", unix.TIOCM_CTS}, {"dsr", unix.TIOCM_DSR}, {"ri", unix.TIOCM_RI}, {"dcd", unix.TIOCM_CD}} {
		if state&s.bit != 0 {
			on = append(on, s.name)
		}
	}
	return on
}

// Read returns bytes that the line has sent.
func (p *port) Read(b []byte) (int, error) { return p.file.Read(b) }

// Write sends to the line.
func (p *port) Write(b []byte) (int, error) { return p.file.Write(b) }

// sendBreak holds the line in a break for so long.
func (p *port) sendBreak(ctx context.Context, length time.Duration) error {
	if err := p.control(func(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCSBRK, 0) }); err != nil {
		return err
	}
	held := time.NewTimer(length)
	defer held.Stop()
	select {
	case <-held.C:
	case <-ctx.Done():
	}
	if err := p.control(func(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCCBRK, 0) }); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// longestDrain is how long Close lets the line send the bytes that wait.
const longestDrain = 500 * time.Millisecond

// Close ends the line's use, and wakes Read and Write. It gives the line the time to send the waiting bytes, and
// drops the rest: otherwise the system would wait half a minute for a far side that reads nothing (tty_port_close,
// closing_wait).
func (p *port) Close() (err error) {
	p.close.Do(func() {
		waiting := 0
		_ = p.control(func(fd int) (err error) {
			waiting, err = unix.IoctlGetInt(fd, unix.TIOCOUTQ)
			return err
		})
		if waiting > 0 {
			sent := time.NewTimer(min(longestDrain, time.Duration(waiting*p.bits)*time.Second/time.Duration(p.baud)))
			<-sent.C
		}
		_ = p.file.SetWriteDeadline(time.Now()) // a Write that waits for room must not fill it again
		_ = p.control(func(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCOFLUSH) })
		err = p.file.Close()
	})
	return err
}

// notThere reports whether a device could not be opened because nothing is behind it.
func notThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENODEV)
}

// taken reports whether another program has the line for itself (TIOCEXCL).
func taken(err error) bool { return errors.Is(err, unix.EBUSY) }

// forbidden reports whether the user may not open the device.
func forbidden(err error) bool { return errors.Is(err, fs.ErrPermission) }

// access explains an error of the rights of a device.
func access(device string) string {
	var stat unix.Stat_t
	if err := unix.Stat(device, &stat); err != nil {
		return ""
	}
	if group := groupName(stat.Gid); group != "" && stat.Mode&0o060 == 0o060 && stat.Gid != 0 {
		return fmt.Sprintf("the group %s may open it: add the user of ptyctl to it (usermod -aG %s USER), and start ptyctl "+
			"in a new login", group, group)
	}
	return "give the user of ptyctl the right to read and write " + strings.TrimSpace(device)
}
