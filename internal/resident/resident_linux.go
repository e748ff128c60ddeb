package resident

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func release() {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	for _, m := range clean(f) {
		// A failure leaves the pages where they are.
		_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED)
	}
}

// A mapping is a part of the address space.
type mapping struct{ from, to uintptr }

// clean returns the mappings of files in the text of smaps (proc_pid_smaps(5)) with every page as in the file: no page
// can be written, and none was written before, for example by the relocation of a dynamic linker or by a debugger.
func clean(smaps io.Reader) (found []mapping) {
	var at mapping // of a file, not writable; zero: none
	for s := bufio.NewScanner(smaps); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) == 0 {
			continue
		}
		name, isField := strings.CutSuffix(fields[0], ":")
		if !isField {
			at = header(fields)
			continue
		}
		if name == "Anonymous" && at != (mapping{}) && len(fields) > 1 && fields[1] == "0" {
			found = append(found, at)
		}
	}
	return found
}

// header reads the first line of a mapping, and returns it if it is of a file, and is not writable.
func header(fields []string) mapping {
	if len(fields) < 6 || strings.Contains(fields[1], "w") || !strings.HasPrefix(fields[5], "/") {
		return mapping{}
	}
	from, to, _ := strings.Cut(fields[0], "-")
	a, err := strconv.ParseUint(from, 16, strconv.IntSize)
	if err != nil {
		return mapping{}
	}
	b, err := strconv.ParseUint(to, 16, strconv.IntSize)
	if err != nil || b <= a {
		return mapping{}
	}
	return mapping{uintptr(a), uintptr(b)}
}
