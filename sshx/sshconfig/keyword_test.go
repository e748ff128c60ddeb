package sshconfig

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// manual lists every keyword of ssh_config(5) of OpenSSH 10, with the old names that it still
// accepts.
const manual = `AddKeysToAgent AddressFamily BatchMode BindAddress BindInterface CASignatureAlgorithms
CanonicalDomains CanonicalizeFallbackLocal CanonicalizeHostname CanonicalizeMaxDots
CanonicalizePermittedCNAMEs CertificateFile ChannelTimeout CheckHostIP Ciphers ClearAllForwardings
Compression ConnectTimeout ConnectionAttempts ControlMaster ControlPath ControlPersist DynamicForward
EnableEscapeCommandline EnableSSHKeysign EscapeChar ExitOnForwardFailure FingerprintHash
ForkAfterAuthentication ForwardAgent ForwardX11 ForwardX11Timeout ForwardX11Trusted
GSSAPIAuthentication GSSAPIDelegateCredentials GatewayPorts GlobalKnownHostsFile HashKnownHosts
HostKeyAlgorithms HostKeyAlias HostName HostbasedAcceptedAlgorithms HostbasedAuthentication IPQoS
IdentitiesOnly IdentityAgent IdentityFile IgnoreUnknown KbdInteractiveAuthentication
KbdInteractiveDevices KexAlgorithms KnownHostsCommand LocalCommand LocalForward LogLevel LogVerbose
MACs NoHostAuthenticationForLocalhost NumberOfPasswordPrompts ObscureKeystrokeTiming PKCS11Provider
PasswordAuthentication PermitLocalCommand PermitRemoteOpen Port PreferredAuthentications ProxyCommand
ProxyJump ProxyUseFdpass PubkeyAcceptedAlgorithms PubkeyAuthentication RefuseConnection RekeyLimit
RemoteCommand RemoteForward RequestTTY RequiredRSASize RevokedHostKeys SecurityKeyProvider SendEnv
ServerAliveCountMax ServerAliveInterval SessionType SetEnv StdinNull StreamLocalBindMask
StreamLocalBindUnlink StrictHostKeyChecking SyslogFacility TCPKeepAlive Tag Tunnel TunnelDevice
UpdateHostKeys User UserKnownHostsFile VerifyHostKeyDNS VersionAddendum VisualHostKey WarnWeakCrypto
XAuthLocation AFSTokenPassing ChallengeResponseAuthentication Cipher CompressionLevel
DSAAuthentication FallBackToRsh GlobalKnownHostsFile2 HostbasedKeyTypes IdentityFile2 KeepAlive
KerberosAuthentication KerberosTgtPassing Protocol PubkeyAcceptedKeyTypes RSAAuthentication
RhostsAuthentication RhostsRSAAuthentication SKeyAuthentication SmartcardDevice TISAuthentication
UsePrivilegedPort UseRoaming UseRsh UserKnownHostsFile2`

func TestKeywordTable(t *testing.T) {
	for name := range strings.FieldsSeq(manual) {
		if lookup(name) == nil {
			t.Errorf("%s is not in the table", name)
		}
	}
	count := 0
	for _, k := range Keywords() {
		count += 1 + len(k.Aliases)
		if (k.parse == nil) != (k.Class == Ignore) {
			t.Errorf("%s: class %s, kind %t", k.Name, k.Class, k.parse != nil)
		}
		if k.Class == Refuse && (k.why == "" || len(k.safe) == 0) {
			t.Errorf("%s: refused without a reason, or always", k.Name)
		}
		if k.Class == Ignore && (k.Strict || k.Tokens != "" || k.Default != nil) {
			t.Errorf("%s: ignored, but not without properties", k.Name)
		}
		if k.parse == nil || k.Default == nil {
			continue
		}
		// A default must be in canonical form: its kind must return it unchanged.
		for _, d := range k.Default {
			args := []string{d}
			if k.Name == "UserKnownHostsFile" || k.Name == "GlobalKnownHostsFile" {
				args = k.Default
			}
			got, err := k.parse(input{args: args, tail: strings.Join(args, " ")})
			if err != nil || !slices.Equal(got, args) {
				t.Errorf("%s: default %q reads as %q, %v", k.Name, args, got, err)
			}
		}
	}
	if count != len(byName) {
		t.Errorf("%d names, of which %d differ", count, len(byName))
	}
	for _, c := range []Class{Honour, Ignore, Warn, Refuse} {
		if c.String() == "" {
			t.Errorf("class %d has no name", c)
		}
	}
}

func TestParseNetworks(t *testing.T) {
	got, err := parseNetworks("10.0.0.0/8,192.0.2.1,2001:db8::/32,::1")
	want := []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32"),
		netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("::1/128"),
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, list := range []string{"", "a", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/8,", "10.0.0.0/"} {
		if got, err := parseNetworks(list); err == nil {
			t.Errorf("%q: %v", list, got)
		}
	}
}

func TestParseSeconds(t *testing.T) {
	for s, want := range map[string]int{
		"0": 0, "90": 90, "90s": 90, "90S": 90, "1m": 60, "1H": 3600, "1d": 86400, "1w": 604800,
		"1h30m5": 5405, "1h30m5s": 5405, "1m1m": 120, "1.5": 1, "0.9s": 0, "00012": 12, "2147483647": 2147483647,
	} {
		if got, err := parseSeconds(s); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", "-1", "+1", "1x", "m", "1.5m", "1.", ".", "1s1s", "1 m", " 1", "1m ", "2147483648",
		"99999999999999999999w", "1e3", "0x10", "1..2",
	} {
		if got, err := parseSeconds(s); err == nil {
			t.Errorf("%q: %d, want an error", s, got)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "16": 16, "64K": 65536, "64k": 65536, "1M": 1 << 20, "4G": 4 << 30, "1T": 1 << 40, "12B": 12,
	} {
		if got, err := parseBytes(s); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "K", "-1", "1X", "1KK", "9999999999G", "1.5G", "1 G"} {
		if got, err := parseBytes(s); err == nil {
			t.Errorf("%q: %d, want an error", s, got)
		}
	}
}

func TestValidNames(t *testing.T) {
	for _, s := range []string{"a", "a.b-c_d", "10.0.0.1", "::1", "fe80::1%eth0", "machine/web", "ä"} {
		if !validHost(s) {
			t.Errorf("host %q is refused", s)
		}
	}
	for _, s := range []string{
		"", "-a", "a b", "a\tb", "a\nb", "a;b", "a$b", "a`b", "a'b", `a"b`, `a\b`, "a&b", "a<b", "a>b", "a|b",
		"a(b", "a)b", "a{b", "a}b", "a,b", "a\x00b", "a\x7fb",
	} {
		if validHost(s) {
			t.Errorf("host %q is accepted", s)
		}
	}
	for _, s := range []string{"a", "a@b", `CORP\a`, "a b", "a$", "a.b"} {
		if !validUser(s) {
			t.Errorf("user %q is refused", s)
		}
	}
	for _, s := range []string{"", "-a", "a -b", `a\`, "a'b", "a;b", "a|b", "a&b", "a\nb", "a(b)", "a{b}", "a`b"} {
		if validUser(s) {
			t.Errorf("user %q is accepted", s)
		}
	}
}
