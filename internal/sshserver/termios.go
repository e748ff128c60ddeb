//go:build linux || darwin || freebsd

package sshserver

import (
	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
)

// applyModes sets the modes in t (RFC 4254 section 8, termios(3)). As the RFC requires,
// it ignores speeds and unknown modes.
func applyModes(t *unix.Termios, modes ssh.TerminalModes) {
	for op, index := range map[uint8]int{
		ssh.VINTR: unix.VINTR, ssh.VQUIT: unix.VQUIT, ssh.VERASE: unix.VERASE, ssh.VKILL: unix.VKILL, ssh.VEOF: unix.VEOF,
		ssh.VEOL: unix.VEOL, ssh.VEOL2: unix.VEOL2, ssh.VSTART: unix.VSTART, ssh.VSTOP: unix.VSTOP, ssh.VSUSP: unix.VSUSP,
		ssh.VREPRINT: unix.VREPRINT, ssh.VWERASE: unix.VWERASE, ssh.VLNEXT: unix.VLNEXT, ssh.VDISCARD: unix.VDISCARD,
	} {
		if char, ok := modes[op]; ok {
			if char == 255 {
				char = disabledChar
			}
			t.Cc[index] = uint8(char)
		}
	}
	flags := func(field *flag, bits map[uint8]flag) {
		for op, bit := range bits {
			if on, ok := modes[op]; ok && on == 0 {
				*field &^= bit
			} else if ok {
				*field |= bit
			}
		}
	}
	flags(&t.Iflag, map[uint8]flag{
		ssh.IGNPAR: unix.IGNPAR, ssh.PARMRK: unix.PARMRK, ssh.INPCK: unix.INPCK, ssh.ISTRIP: unix.ISTRIP,
		ssh.INLCR: unix.INLCR, ssh.IGNCR: unix.IGNCR, ssh.ICRNL: unix.ICRNL, ssh.IXON: unix.IXON,
		ssh.IXANY: unix.IXANY, ssh.IXOFF: unix.IXOFF, ssh.IMAXBEL: unix.IMAXBEL, ssh.IUTF8: iutf8,
	})
	flags(&t.Lflag, map[uint8]flag{
		ssh.ISIG: unix.ISIG, ssh.ICANON: unix.ICANON, ssh.ECHO: unix.ECHO, ssh.ECHOE: unix.ECHOE, ssh.ECHOK: unix.ECHOK,
		ssh.ECHONL: unix.ECHONL, ssh.NOFLSH: unix.NOFLSH, ssh.TOSTOP: unix.TOSTOP, ssh.IEXTEN: unix.IEXTEN,
		ssh.ECHOCTL: unix.ECHOCTL, ssh.ECHOKE: unix.ECHOKE, ssh.PENDIN: unix.PENDIN,
	})
	flags(&t.Oflag, map[uint8]flag{
		ssh.OPOST: unix.OPOST, ssh.ONLCR: unix.ONLCR, ssh.OCRNL: unix.OCRNL, ssh.ONOCR: unix.ONOCR, ssh.ONLRET: unix.ONLRET,
	})
}
