package kept

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ptyctl/term"
)

// Limits of a Session.
const (
	maxText  = 1024     // bytes of one text
	maxArgs  = 64       // extra arguments
	maxWhole = 64 << 10 // bytes of a Session that is kept
	maxMS    = 1 << 40  // as the tools have it
	maxSize  = 10000    // columns and rows of a terminal
	maxBaud  = 20_000_000
)

// Decode reads the kept Session with that id. It returns an error for one that cannot be used as it is, whichever node
// has written it.
func Decode(id string, text []byte) (*Session, error) {
	if len(text) > maxWhole {
		return nil, broken(id, fmt.Errorf("it has %d bytes", len(text)))
	}
	var version struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, broken(id, err)
	}
	if version.V != Version {
		return nil, broken(id, fmt.Errorf("it has version %d, and this node reads %d", version.V, Version))
	}
	s := new(Session)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(s)
	if err == nil {
		if _, end := d.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("something follows it")
		}
	}
	if err == nil {
		err = s.check(id)
	}
	if err != nil {
		return nil, broken(id, err)
	}
	return s, nil
}

// broken is the error of a Session that is not used.
func broken(id string, err error) error {
	return &term.Error{
		Op: "open", Session: id, Kind: term.IOError, Err: err,
		Msg: fmt.Sprintf("what the cluster keeps of this session is not valid, so it is not reopened: %.200q; open a new one", err.Error()),
	}
}

// check returns an error if s is not valid for the session with that id.
func (s *Session) check(id string) error {
	t := &s.Target
	texts := []struct{ name, text string }{
		{"id", s.ID}, {"device", s.Device}, {"profile", s.Profile}, {"owner.transport", s.Owner.Transport},
		{"owner.token", s.Owner.Token}, {"owner.shim", s.Owner.Shim}, {"host", t.Host}, {"user", t.User},
		{"auth.secret", t.Auth.Secret}, {"pty.term", t.PTY.Term}, {"known_hosts_path", t.SSH.KnownHostsPath},
		{"host_key_fingerprint", t.SSH.HostKeyFingerprint}, {"config_path", t.SSH.ConfigPath}, {"proxy_jump", t.SSH.ProxyJump},
		{"proxy_url", t.SSH.ProxyURL}, {"server_name", t.Telnet.ServerName}, {"pin", t.Telnet.Pin},
	}
	for _, arg := range t.SSH.ExtraArgs {
		texts = append(texts, struct{ name, text string }{"extra_args", arg})
	}
	for _, x := range texts {
		if err := plain(x.text); err != nil {
			return fmt.Errorf("%s %w", x.name, err)
		}
	}
	words := []struct {
		name, word string
		allowed    []string
	}{
		{"protocol", t.Protocol, []string{"ssh", "telnet"}},
		{"auth.method", t.Auth.Method, []string{"", "password", "private_key", "agent", "auto"}},
		{"host_key_policy", t.SSH.HostKeyPolicy, []string{"", "strict", "accept_new", "ask", "disabled"}},
		{"telnet.mode", t.Telnet.Mode, []string{"", "auto", "telnet", "raw"}},
		{"telnet.enter", t.Telnet.Enter, []string{"", "auto", "cr", "crlf", "crnul", "lf"}},
		{"telnet.binary", t.Telnet.Binary, []string{"", "auto", "always", "never"}},
		{"line.parity", t.Line.Parity, []string{"", "none", "odd", "even", "mark", "space"}},
		{"line.flow", t.Line.Flow, []string{"", "none", "rtscts", "xonxoff"}},
		{"line.dtr", t.Line.DTR, []string{"", "on", "off", "keep"}},
		{"line.rts", t.Line.RTS, []string{"", "on", "off", "keep"}},
	}
	for _, x := range words {
		if !slices.Contains(x.allowed, x.word) {
			return fmt.Errorf("%s is %.40q", x.name, x.word)
		}
	}
	numbers := []struct {
		name        string
		value, most int64
	}{
		{"port", int64(t.Port), 65535}, {"idle_ms", s.IdleMS, maxMS}, {"connect_ms", t.ConnectMS, maxMS}, {"cols", int64(t.PTY.Cols), maxSize},
		{"rows", int64(t.PTY.Rows), maxSize}, {"baud", int64(t.Line.Baud), maxBaud}, {"data_bits", int64(t.Line.DataBits), 8},
		{"stop_bits", int64(t.Line.StopBits), 2}, {"extra_args", int64(len(t.SSH.ExtraArgs)), maxArgs},
	}
	for _, x := range numbers {
		if x.value < 0 || x.value > x.most {
			return fmt.Errorf("%s is %d", x.name, x.value)
		}
	}
	switch {
	case s.ID != id || id == "":
		return fmt.Errorf("it is of session %.80q", s.ID)
	case t.Host == "" || strings.HasPrefix(t.Host, "-"):
		return fmt.Errorf("host is %.80q", t.Host)
	case strings.HasPrefix(t.User, "-"):
		return fmt.Errorf("user is %.80q", t.User)
	case !openProxy(t.SSH.ProxyURL):
		return errors.New("proxy_url is no plain address of a proxy")
	}
	return openArgs(t.SSH.ExtraArgs)
}

// plain refuses a text that no option is.
func plain(text string) error {
	switch {
	case len(text) > maxText:
		return fmt.Errorf("has %d bytes", len(text))
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("has characters that cannot be shown")
	}
	return nil
}

// openProxy reports whether the address of a proxy is free of anything that may be a secret.
func openProxy(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && u.Opaque == "" &&
		(u.Path == "" || u.Path == "/")
}

// openOptions are the options of ssh_config(5) with values that are no secrets, in lower case. SetEnv, and all options
// that name a command, are not among them.
var openOptions = strings.Fields(`
addressfamily bindaddress bindinterface canonicaldomains canonicalizefallbacklocal canonicalizehostname canonicalizemaxdots
canonicalizepermittedcnames casignaturealgorithms certificatefile checkhostip ciphers compression connectionattempts
connecttimeout fingerprinthash forwardagent globalknownhostsfile hashknownhosts hostkeyalgorithms hostkeyalias hostname
identitiesonly identityfile ipqos kbdinteractiveauthentication kexalgorithms loglevel macs numberofpasswordprompts
passwordauthentication port preferredauthentications proxyjump pubkeyacceptedalgorithms pubkeyacceptedkeytypes
pubkeyauthentication rekeylimit requesttty requiredrsasize revokedhostkeys sendenv serveralivecountmax serveraliveinterval
stricthostkeychecking tcpkeepalive updatehostkeys user userknownhostsfile verifyhostkeydns visualhostkey`)

// openArgs says which of the arguments of ssh(1) may have a secret as its value.
func openArgs(args []string) error {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if len(arg) > 1 && arg[0] == '-' && strings.Trim(arg[1:], "46AaCtTqv") == "" {
			continue
		}
		if len(arg) < 2 || arg[0] != '-' || !strings.ContainsRune("oJlpiFbcm", rune(arg[1])) {
			return errors.New("extra_args has an argument that is not kept")
		}
		value := arg[2:]
		if value == "" && i+1 < len(args) {
			i++
			value = args[i]
		}
		if arg[1] != 'o' {
			continue
		}
		keyword, _, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(value, "=", " ")), " ")
		if !slices.Contains(openOptions, strings.ToLower(keyword)) {
			return errors.New("extra_args has an option that is not kept, because its value may be a secret")
		}
	}
	return nil
}
