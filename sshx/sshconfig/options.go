package sshconfig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
)

// Options says for which host, and from which sources, to evaluate. Host is
// required; every other zero value means what ssh(1) would do.
type Options struct {
	// Host is the name as the caller gave it: the name that Host lines match.
	Host string
	// User and Port are set by the call and win over every source. Zero: not set.
	User string
	Port int

	// Overrides are read before any file, in order. See ParseExtraArgs.
	Overrides []Override

	// CallerFile is a configuration file named by the caller (-F). If set, it
	// is read instead of UserFile and SystemFile, and "none" reads nothing.
	CallerFile string
	// UserFile and SystemFile belong to the operator. Empty: ~/.ssh/config and
	// /etc/ssh/ssh_config; "none": not read. A missing file is no error.
	UserFile, SystemFile string
	// NoFiles reads no file at all, CallerFile included.
	NoFiles bool

	// AllowPath is asked before CallerFile, or a file it includes, is opened,
	// and its error ends the evaluation. Nil: a caller may name any file that this
	// process can read; messages do not quote lines of it that set nothing.
	AllowPath func(path string) error

	// AllowExec lets Match exec and ProxyCommand in the operator's files take
	// effect. It never covers what comes from the caller.
	AllowExec bool
	// Exec runs command for Match exec, in the way of "$SHELL -c command", and
	// reports whether it exited with status 0. Nil: Match exec never matches.
	Exec func(ctx context.Context, command string) (ok bool, err error)

	// LocalUser, HomeDir and LocalHost describe this side: %u, %d (and ~), %l.
	// Empty: asked from the operating system.
	LocalUser, HomeDir, LocalHost string
	// LookupEnv answers ${NAME}. Nil: os.LookupEnv.
	LookupEnv func(name string) (value string, ok bool)
	// Resolve looks a name up for CanonicalizeHostname and returns the name at
	// the end of its CNAME chain, or an error if it has no address. A trailing
	// dot in name keeps search domains out. Nil: the system's resolver.
	Resolve func(ctx context.Context, name string) (cname string, err error)
	// Interfaces returns this machine's addresses, for Match localnetwork. Nil:
	// those of the interfaces that are up.
	Interfaces func() ([]netip.Addr, error)

	// Command is the remote command, if one was given, for Match command.
	Command string
	// SessionType is shell, exec, subsystem or none, for Match sessiontype.
	// Empty: exec if there is a Command, otherwise shell.
	SessionType string
	// Version is what Match version compares. Empty: DefaultVersion.
	Version string

	// Defaults are the algorithm lists that "+", "-" and "^" refer to.
	Defaults Algorithms
}

// DefaultVersion names the release of OpenSSH whose ssh_config(5) this package
// follows; Match version sees it.
const DefaultVersion = "OpenSSH_10.0p2"

// Override is one configuration line given with the call: -o Keyword=Value.
type Override struct {
	Keyword string
	// Value is written as in a file: what contains blanks needs quotes, see Quote.
	Value string
	// Origin is zero for what a caller gave. ParseExtraArgs leaves it zero; a
	// Jump made from the operator's ProxyCommand carries that line's Origin.
	Origin Origin
}

// Algorithms holds the lists of one client, by keyword of ssh_config(5).
type Algorithms struct {
	Kex         AlgorithmSet // KexAlgorithms
	Ciphers     AlgorithmSet // Ciphers
	MACs        AlgorithmSet // MACs
	HostKey     AlgorithmSet // HostKeyAlgorithms
	Pubkey      AlgorithmSet // PubkeyAcceptedAlgorithms
	CASignature AlgorithmSet // CASignatureAlgorithms
}

// AlgorithmSet is what one keyword may choose from.
type AlgorithmSet struct {
	// Default is offered when the keyword is not set, and is what "+name",
	// "-pattern" and "^name" change. Most preferred first.
	Default []string
	// Supported is everything implemented; names outside it are dropped with a
	// warning. Empty: every name is taken as it is.
	Supported []string
}

// fill replaces the zero values of o by those of this machine.
func (o *Options) fill() error {
	if o.Host == "" {
		return errors.New("no host given: set Options.Host to the name to connect to")
	}
	if !validHost(o.Host) {
		return fmt.Errorf("host %q holds characters that no host name has: give a name or an address", o.Host)
	}
	if o.User != "" && !validUser(o.User) {
		return fmt.Errorf("user %q holds characters that are not allowed in a user name on a command line", o.User)
	}
	if o.Port < 0 || o.Port > 65535 {
		return fmt.Errorf("port %d is out of range: give 1 to 65535, or 0 for the configured one", o.Port)
	}
	if o.LocalUser == "" || o.HomeDir == "" {
		u, err := user.Current()
		if err != nil {
			return fmt.Errorf("cannot tell who the local user is: %w; set Options.LocalUser and Options.HomeDir", err)
		}
		if o.LocalUser == "" {
			o.LocalUser = u.Username
		}
		if o.HomeDir == "" {
			o.HomeDir = u.HomeDir
		}
	}
	if o.LocalHost == "" {
		// Only %l, %L and %C need it; a machine without a name still connects.
		o.LocalHost, _ = os.Hostname()
	}
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	if o.Resolve == nil {
		o.Resolve = systemResolve
	}
	if o.Interfaces == nil {
		o.Interfaces = systemInterfaces
	}
	if o.UserFile == "" {
		o.UserFile = filepath.Join(o.HomeDir, ".ssh", "config")
	}
	if o.SystemFile == "" {
		o.SystemFile = filepath.Join(systemDir(), "ssh_config")
	}
	if o.Version == "" {
		o.Version = DefaultVersion
	}
	return nil
}

// systemDir is where the system-wide configuration lives, and what a relative
// Include in it starts from.
func systemDir() string {
	if runtime.GOOS == "windows" {
		return filepath.Join(os.Getenv("ProgramData"), "ssh")
	}
	return "/etc/ssh"
}

func systemResolve(ctx context.Context, name string) (string, error) {
	if _, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name); err != nil {
		return "", err
	}
	cname, err := net.DefaultResolver.LookupCNAME(ctx, name)
	if err != nil {
		return name, nil //nolint:nilerr // it has an address, and merely no canonical name to follow
	}
	return cname, nil
}

func systemInterfaces() ([]netip.Addr, error) {
	ifaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	for _, iface := range ifaces {
		if iface.Flags&net.FlagUp == 0 {
			continue
		}
		list, err := iface.Addrs()
		if err != nil {
			continue // the interface vanished between the two calls
		}
		for _, a := range list {
			if n, ok := a.(*net.IPNet); ok {
				if addr, ok := netip.AddrFromSlice(n.IP); ok {
					addrs = append(addrs, addr.Unmap())
				}
			}
		}
	}
	return addrs, nil
}
