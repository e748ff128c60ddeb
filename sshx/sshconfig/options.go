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
	"strings"
)

// Options selects the host and the sources of an evaluation. Host is required; every other
// zero value means the behaviour of ssh(1).
type Options struct {
	// Host is the name given by the caller; Host lines match it.
	Host string
	// User and Port are set by the call and win over every source. Zero means not set.
	User string
	Port int

	// Overrides are read before any file, in order. See ParseExtraArgs.
	Overrides []Override

	// CallerFile is a configuration file named by the caller (-F). If set, it replaces UserFile
	// and SystemFile; "none" reads no file.
	CallerFile string
	// UserFile and SystemFile belong to the operator. Empty means ~/.ssh/config and
	// /etc/ssh/ssh_config (on Windows %ProgramData%\ssh\ssh_config); "none" means not read. A missing file is no error.
	UserFile, SystemFile string
	// NoFiles reads no file at all, not even CallerFile.
	NoFiles bool

	// AllowPath is called before CallerFile, or a file it includes, is opened; its error ends
	// the evaluation. With nil a caller may name any file that this process can read; messages
	// then do not quote lines of the file that are not configuration.
	AllowPath func(path string) error

	// Behind means that the host is reached through another one, so that its own ProxyJump and
	// ProxyCommand have no effect.
	Behind bool

	// AllowExec puts Match exec and ProxyCommand in the operator's files into effect. It never
	// covers values from the caller.
	AllowExec bool
	// Exec runs command for Match exec, like "$SHELL -c command", and reports whether its exit
	// status was 0. With nil Match exec never matches.
	Exec func(ctx context.Context, command string) (ok bool, err error)

	// LocalUser, HomeDir and LocalHost describe this machine: %u, %d (and ~), %l. Empty means
	// the values of the operating system.
	LocalUser, HomeDir, LocalHost string
	// Dir is the folder that relative paths of files are in: those of keys, known_hosts and
	// agents, not of configuration files. Empty leaves them relative.
	Dir string
	// LookupEnv returns the value for ${NAME}. Nil means os.LookupEnv.
	LookupEnv func(name string) (value string, ok bool)
	// Resolve looks a name up for CanonicalizeHostname and returns the name at the end of its
	// CNAME chain, or an error if it has no address. A trailing dot in name turns search domains
	// off. Nil means the system's resolver.
	Resolve func(ctx context.Context, name string) (cname string, err error)
	// Interfaces returns this machine's addresses, for Match localnetwork. Nil means those of
	// the interfaces that are up.
	Interfaces func() ([]netip.Addr, error)

	// Command is the remote command, if there is one, for Match command.
	Command string
	// SessionType is shell, exec, subsystem or none, for Match sessiontype. Empty means exec
	// with a Command, otherwise shell.
	SessionType string
	// Version is the version for Match version. Empty means DefaultVersion.
	Version string

	// Defaults are the algorithm lists that "+", "-" and "^" modify.
	Defaults Algorithms
}

// DefaultVersion is the release of OpenSSH that this package follows, for Match version.
const DefaultVersion = "OpenSSH_10.0p2"

// Override is one configuration line given with the call: -o Keyword=Value.
type Override struct {
	Keyword string
	// Value has the syntax of a file: a value with blanks must be quoted, see Quote.
	Value string
	// Origin is zero for a value of the caller. ParseExtraArgs leaves it zero; a Jump made from
	// the operator's ProxyCommand has the Origin of that line.
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

// AlgorithmSet is the set of algorithms for one keyword.
type AlgorithmSet struct {
	// Default is used when the keyword is not set, and is the list that "+name", "-pattern" and
	// "^name" change. The preferred algorithm is first.
	Default []string
	// Supported has every implemented name; other names are dropped with a warning. Empty means
	// that every name is accepted.
	Supported []string
}

// fill replaces the zero values of o by those of this machine, and checks the call's own
// fields.
func (o *Options) fill() error {
	if o.Host == "" {
		return errors.New("no host given: set Options.Host to the name to connect to")
	}
	if !validHost(o.Host) {
		return fmt.Errorf("host %q contains characters that are not allowed in a host name: "+
			"give a name or an address", o.Host)
	}
	if o.User != "" && !validUser(o.User) {
		return fmt.Errorf("user %q contains characters that are not allowed in a user name on a command line", o.User)
	}
	if errSystemFolder != nil {
		return errSystemFolder
	}
	if o.Port < 0 || o.Port > 65535 {
		return fmt.Errorf("port %d is out of range: give 1 to 65535, or 0 for the configured one", o.Port)
	}
	// The user database is slow on some systems, so it is read only if needed.
	if o.LocalUser == "" || o.HomeDir == "" {
		u, err := user.Current()
		if err != nil {
			return fmt.Errorf("cannot determine the local user: %w; set Options.LocalUser and Options.HomeDir", err)
		}
		if o.LocalUser == "" {
			o.LocalUser = accountName(runtime.GOOS, u.Username)
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
		o.SystemFile = inSystemDir(runtime.GOOS, systemFolder, "ssh_config")
	}
	if o.Version == "" {
		o.Version = DefaultVersion
	}
	return nil
}

// first returns the file that files reads first, whether it exists or not; empty: none.
func (o *Options) first() string {
	switch {
	case o.NoFiles, strings.EqualFold(o.CallerFile, "none"):
		return ""
	case o.CallerFile != "":
		return o.CallerFile
	case !strings.EqualFold(o.UserFile, "none"):
		return o.UserFile
	case !strings.EqualFold(o.SystemFile, "none"):
		return o.SystemFile
	}
	return ""
}

// systemResolve is the default of Options.Resolve.
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

// systemInterfaces is the default of Options.Interfaces.
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
