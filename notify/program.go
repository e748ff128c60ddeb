package notify

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A program is run once for each notice.
type program struct {
	path    string
	args    []string
	timeout time.Duration
}

func newProgram(o Options) (*program, error) {
	path, err := exec.LookPath(o.Command[0])
	if err != nil {
		return nil, fmt.Errorf("command: %w; give the path of a program", err)
	}
	return &program{path: path, args: o.Command[1:], timeout: o.CommandTimeout}, nil
}

// afterEnd is how long a child of the program may keep its output open.
const afterEnd = time.Second

// run runs the program with a notice on its standard input. Its output goes nowhere.
func (p *program) run(ctx context.Context, notice []byte) error {
	ctx, stop := context.WithTimeout(ctx, p.timeout)
	defer stop()
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Stdin = bytes.NewReader(append(slices.Clone(notice), '\n'))
	cmd.Env = environment(os.Environ())
	cmd.WaitDelay = afterEnd
	endTogether(cmd)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("%s: %w", p.path, err)
	}
	return nil
}

// kept are the variables that a program which shows or sends a message needs. The others, for example those that
// configure ptyctl, may hold secrets.
var kept = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
	"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
	"SYSTEMROOT", "SYSTEMDRIVE", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP", "PATHEXT", "COMSPEC",
}

// environment returns those of the variables.
func environment(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		name = strings.ToUpper(name)
		return !slices.Contains(kept, name) && !strings.HasPrefix(name, "LC_")
	})
}
