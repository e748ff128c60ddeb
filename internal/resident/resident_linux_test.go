package resident

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// fileKiB returns how much of files is resident, in KiB.
func fileKiB(t *testing.T) (n int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "RssFile: %d", &n); err == nil {
			return n
		}
	}
	t.Fatalf("the status has no RssFile:\n%s", text)
	return 0
}

// The pages of the program are given back, and the program goes on with its values unchanged.
func TestRelease(t *testing.T) {
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	changed := []byte(fmt.Sprint("a value that the file does not have: ", len(program)))
	want := bytes.Clone(changed)
	before := fileKiB(t)
	Release()
	if after := fileKiB(t); after > before*3/4 {
		t.Errorf("%d KiB of files are resident, and %d were before, want a quarter less", after, before)
	}
	if !bytes.Equal(changed, want) || !strings.HasPrefix(fmt.Sprint(errUsed), "a variable") {
		t.Errorf("the memory has changed: %q, %v", changed, errUsed)
	}
}

var errUsed = fmt.Errorf("a variable of %s", "the program")

// Only pages that are as in the file are given back.
func TestClean(t *testing.T) {
	part := func(header string, anonymous int) string {
		return fmt.Sprintf("%s\nSize:  4 kB\nRss:  4 kB\nAnonymous:  %d kB\nVmFlags: rd ex mr mw me\n", header, anonymous)
	}
	smaps := part("00400000-00500000 r-xp 00001000 fd:01 1234 /usr/bin/a program (deleted)", 0) +
		part("00500000-00600000 r--p 00101000 fd:01 1234                       /usr/bin/a program (deleted)", 0) +
		part("00600000-00700000 r--p 00201000 fd:01 1234 /usr/bin/a program (deleted)", 8) +
		part("00700000-00800000 rw-p 00301000 fd:01 1234 /usr/bin/a program (deleted)", 0) +
		part("00800000-00900000 r-xp 00000000 fd:01 1235 /usr/lib/libc.so.6", 0) +
		part("00900000-00a00000 r--p 00000000 00:00 0", 0) +
		part("7fff00000000-7fff00001000 r-xp 00000000 00:00 0 [vdso]", 0) +
		"00b00000-00c00000 r-xp 00001000 fd:01 1234 /usr/bin/a program (deleted)\nSize: 4 kB\n"
	want := []mapping{{0x400000, 0x500000}, {0x500000, 0x600000}, {0x800000, 0x900000}}
	if got := clean(strings.NewReader(smaps)); !slices.Equal(got, want) {
		t.Errorf("clean returned %x, want %x", got, want)
	}
	for _, text := range []string{"", "\n", "x", "zz-1 r-xp 0 0 0 /f\nAnonymous: 0 kB", "2-1 r-xp 0 0 0 /f\nAnonymous: 0 kB", "1-2\nAnonymous:"} {
		if got := clean(strings.NewReader(text)); len(got) > 0 {
			t.Errorf("clean of %q returned %x, want nothing", text, got)
		}
	}
}
