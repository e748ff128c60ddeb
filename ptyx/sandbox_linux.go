package ptyx

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// landlockABI is the lowest version required: earlier ones cannot restrict
// truncate(2) (landlock(7), "VERSIONS").
const landlockABI = 3

// devices are written by almost every program, and store nothing. Terminals are not
// included, because other programs of the account have theirs there, too.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// ownTerminal returns the path of the program's own terminal, which it may open by
// name, or "".
func ownTerminal() string {
	name, err := os.Readlink("/proc/self/fd/0")
	if err != nil || !strings.HasPrefix(name, "/dev/pts/") {
		return ""
	}
	return name
}

// sandboxUnsupported returns why a sandbox is not available, or "".
func sandboxUnsupported() string {
	if !limitsEnabled.Load() {
		return "a sandbox is not built into this program: its main function must call ptyx.EnableLimits"
	}
	if abi, err := landlocksys.LandlockGetABIVersion(); err != nil || abi < landlockABI {
		return fmt.Sprintf(
			"the sandbox for local programs needs Linux 6.2 or later with Landlock enabled; "+
				"this kernel has Landlock version %d, and %d is required",
			max(abi, 0),
			landlockABI,
		)
	}
	return ""
}

// enter restricts this process permanently to the files of the sandbox.
func (s Sandbox) enter() error {
	if !s.Active() {
		return nil
	}
	read := s.Read
	if len(read) == 0 {
		read = []string{"/"}
	}
	var rules []landlock.Rule
	for _, path := range read {
		folder, err := isFolder(path)
		switch {
		case err != nil:
			return err
		case folder:
			rules = append(rules, landlock.RODirs(path))
		default:
			rules = append(rules, landlock.ROFiles(path))
		}
	}
	own := devices
	if t := ownTerminal(); t != "" {
		own = append(slices.Clone(devices), t)
	}
	for i, path := range slices.Concat(s.Write, own) {
		folder, err := isFolder(path)
		switch {
		case err != nil && i >= len(s.Write): // a device may be missing
		case err != nil:
			return err
		case folder:
			rules = append(rules, landlock.RWDirs(path).WithRefer())
		default:
			rules = append(rules, landlock.RWFiles(path))
		}
	}
	if err := landlock.V3.RestrictPaths(rules...); err != nil {
		return fmt.Errorf("the sandbox for local programs: %w", err)
	}
	return nil
}

// isFolder reports whether path is a folder, because Landlock has different rights
// for files.
func isFolder(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, fmt.Errorf("the sandbox for local programs names %s: %w", path, reason(err))
	}
	return info.IsDir(), nil
}

// explain adds a hint to the error of execve(2) if the sandbox may be the reason.
func (s Sandbox) explain(err error) error {
	if errors.Is(err, syscall.EACCES) && len(s.Read) > 0 {
		return fmt.Errorf(
			"%w; the readable folders must include the program, its interpreter and its libraries "+
				"(/usr, /lib, /lib64, /bin)",
			err,
		)
	}
	return err
}
