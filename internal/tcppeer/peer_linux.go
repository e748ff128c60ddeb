package tcppeer

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// PID returns the process that has the other end of a connection between local, the address here, and remote. 0: it is
// on another machine, or of a user whose processes this one may not look at. -1: it is of this user, and cannot be
// found.
func PID(local, remote netip.AddrPort) int {
	inode, uid, ok := socketOf(remote, local)
	own := os.Getuid()
	if !ok || uid != own && own != 0 {
		return 0
	}
	if pid := holder("socket:[" + inode + "]"); pid > 0 {
		return pid
	}
	return -1
}

// socketOf finds a socket of this machine in the kernel's tables, by its own address and that of its peer.
func socketOf(own, peer netip.AddrPort) (inode string, uid int, ok bool) {
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		file, err := os.Open(name)
		if err != nil {
			continue
		}
		defer file.Close()
		for lines := bufio.NewScanner(file); lines.Scan(); {
			f := strings.Fields(lines.Text())
			if len(f) < 10 || address(f[1]) != plain(own) || address(f[2]) != plain(peer) {
				continue
			}
			if uid, err = strconv.Atoi(f[7]); err == nil {
				return f[9], uid, true
			}
		}
	}
	return "", 0, false
}

// plain is an address as address returns it.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// address reads an address of the tables: hexadecimal words in the order of this machine's bytes, and the port. An
// invalid one is the zero AddrPort.
func address(text string) netip.AddrPort {
	words, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(words)
	n, bad := strconv.ParseUint(port, 16, 16)
	if err != nil || bad != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	ip, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(n))
}

// holder returns a process that has a file descriptor with this target; 0: none is found.
func holder(target string) int {
	folders, _ := filepath.Glob("/proc/[0-9]*/fd") // the pattern is valid
	for _, dir := range folders {
		fds, err := os.ReadDir(dir)
		if err != nil {
			continue // it has ended, or is another user's
		}
		for _, fd := range fds {
			if at, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil && at == target {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir))) // digits
				return pid
			}
		}
	}
	return 0
}
