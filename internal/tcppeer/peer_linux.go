package tcppeer

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// PIDs returns the processes that may have the other end of a connection between local, the address here, and remote:
// those that are known to have it, or else those of its user that cannot be looked at, as a server that has become that
// user. PIDs returns none if the other end is on another machine, or belongs to another user, unless this process is
// root's.
func PIDs(local, remote netip.AddrPort) []int {
	inode, uid, ok := socketOf(remote, local)
	if own := os.Getuid(); !ok || uid != own && own != 0 {
		return nil
	}
	return holders("socket:["+inode+"]", uid)
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

// holders returns the processes that have a file descriptor with this target, or else those of the user that may have
// one.
func holders(target string, uid int) (has []int) {
	var hidden []int
	folders, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, dir := range folders {
		pid, _ := strconv.Atoi(filepath.Base(dir)) // digits
		fds, err := os.ReadDir(filepath.Join(dir, "fd"))
		if err != nil && isOf(dir, uid) {
			hidden = append(hidden, pid)
		}
		for _, fd := range fds {
			if at, err := os.Readlink(filepath.Join(dir, "fd", fd.Name())); err == nil && at == target {
				has = append(has, pid)
				break
			}
		}
	}
	if has == nil {
		return hidden
	}
	return has
}

// isOf reports whether a process is a user's. Its folder belongs to root if it cannot be looked at.
func isOf(dir string, uid int) bool {
	status, _ := os.ReadFile(filepath.Join(dir, "status")) // empty: it has ended
	_, rest, _ := strings.Cut(string(status), "\nUid:")
	ids, _, _ := strings.Cut(rest, "\n")
	return slices.Contains(strings.Fields(ids), strconv.Itoa(uid))
}
