package fleetrun

import (
	"context"
	"fmt"
	"strings"

	"ptyctl/control"
	"ptyctl/internal/tty"
)

// FilesTool is the tool that is called for files.
const FilesTool = "ptyctl_fs"

// A CopyCall holds the arguments of a copy to many hosts, or of the collection of a file from each of them.
type CopyCall struct {
	Action    string   `json:"action"`
	Hosts     []string `json:"hosts,omitempty"` // collect
	Path      string   `json:"path,omitempty"`  // collect
	From      *Source  `json:"from,omitempty"`  // copy
	To        Place    `json:"to"`
	Overwrite bool     `json:"overwrite,omitempty"`
	Verify    *bool    `json:"verify,omitempty"`
	Order
}

// A Source is the file of this machine that is copied.
type Source struct {
	Path string `json:"path"`
}

// A Place is where files come to: a path on hosts, or a folder of this machine.
type Place struct {
	Hosts []string `json:"hosts,omitempty"`
	Path  string   `json:"path"`
}

// Copy copies as call says, and shows the outcome on each host.
func Copy(ctx context.Context, on *control.Client, call CopyCall, o Options) (End, error) {
	call.Wait, call.MaxOutput = stepWait.Milliseconds(), maxShown
	return o.run(ctx, on, FilesTool, call)
}

// copied writes the hosts on which the copy has the same outcome.
func (g group) copied(b *strings.Builder) {
	fmt.Fprintf(b, "%s (%d): %s, %d bytes", tty.Printable(g.Hosts), g.N, tty.Printable(g.Outcome), g.Bytes)
	if g.SHA256 != "" {
		b.WriteString(", sha256 " + tty.Printable(g.SHA256))
	}
	if g.Verified != nil && !*g.Verified {
		b.WriteString(", not read back")
	}
	if g.Changed {
		b.WriteString(", changed while it was copied")
	}
	b.WriteByte('\n')
}

// exits returns the exit codes of hosts with output that is not shown.
func (n names) exits() string {
	if n.Exits == "" {
		return ""
	}
	return "exit " + n.Exits + ", "
}
