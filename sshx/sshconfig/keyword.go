package sshconfig

import (
	"runtime"
	"slices"
	"strings"
)

// Class is the treatment of a keyword.
type Class int

// The classes of keywords.
const (
	Honour Class = iota // in effect: it has a field in Config or controls the evaluation
	Ignore              // dropped: it has no meaning for this client
	Warn                // not in effect; a value that asks for something gives a Warning
	Refuse              // not in effect; a value that asks for something gives a Refusal
)

// String returns the name of c in lower case.
func (c Class) String() string {
	return [...]string{"honour", "ignore", "warn", "refuse"}[c]
}

// Keyword is one row of the table of ssh_config(5).
type Keyword struct {
	Name    string   // spelling of the manual page; sources may use any case
	Aliases []string // obsolete or vendor names for the same thing
	Class   Class
	// Strict keywords decide about the destination, about trust, or about the command at the far
	// end. A bad value in force refuses the host; for other keywords it is skipped with a
	// warning.
	Strict bool
	// Tokens are the letters that may follow "%" in this keyword's values.
	Tokens string
	// Env and Tilde say whether ${NAME} and a leading ~ are expanded.
	Env, Tilde bool
	// Accumulates is true if every line adds a value; otherwise the first line wins.
	Accumulates bool
	// Default is the value when no source sets one, in the form of a file.
	Default []string

	parse kind
	safe  []string // for Warn and Refuse: values without an effect
	why   string   // for Warn and Refuse: the message: the reason, and the alternative
}

// The token sets of ssh_config(5), TOKENS.
const (
	tokensHostName = "h"
	tokensProxy    = "hnpr"
	tokensUser     = "Ldhijklnpu" // without the remote user and the hash that includes it
	tokensAll      = tokensUser + "Cr"
)

// The messages that several keywords share.
const (
	whyForward   = "this client opens no forwardings; remove the line for this host, or forward with ssh(1)"
	whyX11       = "X11 is not forwarded; set ForwardX11 no"
	whyProvider  = "no provider library is loaded; put the key into an ssh-agent"
	whyHostbased = "host-based authentication is not available; use a key, an agent or a password"
)

// keywords has every keyword of OpenSSH up to 10.x, and the vendor patches seen in the field.
// Host, Match and Include are missing, because they control the reading and have no value.
var keywords = []Keyword{
	// The destination.
	{Name: "HostName", Strict: true, Tokens: tokensHostName, parse: text},
	{Name: "Port", Strict: true, Default: []string{"22"}, parse: port},
	{Name: "User", Tokens: tokensUser, Env: true, Strict: true, parse: text},
	{Name: "Tag", parse: text},
	{Name: "IgnoreUnknown", parse: text},
	{Name: "RefuseConnection", parse: text},

	// The network connection.
	{Name: "AddressFamily", Default: []string{"any"}, parse: words("any", "inet", "inet6")},
	{Name: "BindAddress", parse: text},
	{Name: "BindInterface", parse: text},
	{Name: "ConnectTimeout", Default: []string{"0"}, parse: duration},
	{Name: "ConnectionAttempts", Default: []string{"1"}, parse: positive},
	{Name: "TCPKeepAlive", Aliases: []string{"KeepAlive"}, Default: yes, parse: yesNo},
	{Name: "ProxyJump", Strict: true, Tokens: tokensProxy, parse: jump},
	{Name: "ProxyCommand", Strict: true, Tokens: tokensProxy, parse: command},
	{Name: "ProxyUseFdpass", Default: no, parse: yesNo},
	{
		Name:    "CanonicalizeHostname",
		Strict:  true,
		Default: no,
		parse:   words("yes", "true=yes", "no", "false=no", "always"),
	},
	{Name: "CanonicalDomains", parse: domains},
	{Name: "CanonicalizeMaxDots", Default: []string{"1"}, parse: integer},
	{Name: "CanonicalizeFallbackLocal", Default: yes, parse: yesNo},
	{Name: "CanonicalizePermittedCNAMEs", parse: cnames},
	{Name: "IPQoS", Class: Ignore},

	// Algorithms.
	{Name: "KexAlgorithms", parse: algorithms},
	{Name: "Ciphers", parse: algorithms},
	{Name: "MACs", parse: algorithms},
	{Name: "HostKeyAlgorithms", parse: algorithms},
	{Name: "PubkeyAcceptedAlgorithms", Aliases: []string{"PubkeyAcceptedKeyTypes"}, parse: algorithms},
	{Name: "CASignatureAlgorithms", parse: algorithms},
	{Name: "RequiredRSASize", Aliases: []string{"RSAMinSize"}, Default: []string{"1024"}, parse: integer},
	{Name: "RekeyLimit", Default: []string{"0", "0"}, parse: rekey},
	{Name: "Compression", Class: Ignore},
	{Name: "WarnWeakCrypto", Class: Ignore},

	// Trust.
	{
		Name: "StrictHostKeyChecking", Strict: true, Default: []string{"ask"},
		parse: words("yes", "true=yes", "no", "false=no", "off=no", "ask", "accept-new"),
	},
	{
		Name: "UserKnownHostsFile", Tokens: tokensAll, Env: true, Tilde: true,
		Default: []string{"~/.ssh/known_hosts", "~/.ssh/known_hosts2"}, parse: files,
	},
	{
		Name:    "GlobalKnownHostsFile",
		Default: systemKnownHosts(runtime.GOOS, systemFolder), parse: files,
	},
	{Name: "RevokedHostKeys", Strict: true, Tokens: tokensAll, Env: true, Tilde: true, parse: files},
	{Name: "HostKeyAlias", Strict: true, parse: text},
	{Name: "HashKnownHosts", Default: no, parse: yesNo},
	{Name: "CheckHostIP", Default: no, parse: yesNo},
	{Name: "NoHostAuthenticationForLocalhost", Default: no, parse: yesNo},
	{Name: "KnownHostsCommand", Class: Warn, parse: command}, // see finisher.localPrograms
	{
		Name: "VerifyHostKeyDNS", Class: Warn, parse: words("yes", "true=yes", "no", "false=no", "ask"), safe: no,
		why: "SSHFP records are not looked up; host keys come from the known_hosts files only",
	},
	{Name: "UpdateHostKeys", parse: words("yes", "true=yes", "no", "false=no", "ask")},
	{Name: "FingerprintHash", Class: Ignore},
	{Name: "VisualHostKey", Class: Ignore},

	// Authentication.
	{
		Name: "IdentityFile", Aliases: []string{"IdentityFile2"}, Accumulates: true,
		Tokens: tokensAll, Env: true, Tilde: true, parse: text,
		Default: []string{
			"~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ecdsa_sk",
			"~/.ssh/id_ed25519", "~/.ssh/id_ed25519_sk",
		},
	},
	{Name: "CertificateFile", Accumulates: true, Tokens: tokensAll, Env: true, Tilde: true, parse: text},
	{Name: "IdentitiesOnly", Default: no, parse: yesNo},
	{Name: "IdentityAgent", Tokens: tokensAll, Env: true, Tilde: true, Default: []string{"SSH_AUTH_SOCK"}, parse: text},
	{Name: "AddKeysToAgent", Default: no, parse: addKeys},
	{Name: "PreferredAuthentications", parse: text},
	{
		Name: "PubkeyAuthentication", Aliases: []string{"DSAAuthentication"}, Default: yes,
		parse: words("yes", "true=yes", "no", "false=no", "unbound", "host-bound"),
	},
	{Name: "PasswordAuthentication", Default: yes, parse: yesNo},
	{
		Name:    "KbdInteractiveAuthentication",
		Aliases: []string{"ChallengeResponseAuthentication", "SKeyAuthentication", "TISAuthentication"},
		Default: yes, parse: yesNo,
	},
	{Name: "KbdInteractiveDevices", Class: Ignore},
	{Name: "NumberOfPasswordPrompts", Default: []string{"3"}, parse: integer},
	{Name: "BatchMode", Default: no, parse: yesNo},
	{
		Name: "PKCS11Provider", Aliases: []string{"SmartcardDevice"}, Class: Warn, parse: text,
		safe: []string{"none"}, why: whyProvider,
	},
	{Name: "SecurityKeyProvider", Class: Warn, parse: text, safe: []string{"none", "internal"}, why: whyProvider},
	{Name: "GSSAPIAuthentication", Class: Ignore},
	{Name: "GSSAPIDelegateCredentials", Class: Ignore},
	{Name: "GSSAPIKeyExchange", Class: Ignore},
	{Name: "GSSAPIKexAlgorithms", Class: Ignore},
	{Name: "GSSAPITrustDns", Class: Ignore},
	{Name: "GSSAPIRenewalForcesRekey", Class: Ignore},
	{Name: "GSSAPIServerIdentity", Class: Ignore},
	{Name: "GSSAPIClientIdentity", Class: Ignore},
	{Name: "HostbasedAuthentication", Class: Warn, parse: yesNo, safe: no, why: whyHostbased},
	{Name: "EnableSSHKeysign", Class: Warn, parse: yesNo, safe: no, why: whyHostbased},
	{Name: "HostbasedAcceptedAlgorithms", Aliases: []string{"HostbasedKeyTypes"}, Class: Ignore},
	{Name: "UseKeychain", Class: Ignore}, // Apple

	// The session.
	{Name: "ServerAliveInterval", Default: []string{"0"}, parse: duration},
	{Name: "ServerAliveCountMax", Default: []string{"3"}, parse: integer},
	{Name: "SendEnv", Accumulates: true, parse: envNames},
	{Name: "SetEnv", Tokens: tokensAll, Env: true, parse: envPairs},
	{Name: "RequestTTY", Default: []string{"auto"}, parse: words("yes", "true=yes", "no", "false=no", "force", "auto")},
	{Name: "RemoteCommand", Strict: true, Tokens: tokensAll, parse: command},
	{
		Name: "SessionType", Class: Refuse, Default: []string{"default"}, parse: words("none", "subsystem", "default"),
		safe: []string{"default"}, why: "only shells and commands are run; set SessionType default for this host",
	},
	{Name: "ForwardAgent", Tokens: tokensAll, Env: true, Tilde: true, Default: no, parse: yesNoOrText},
	{Name: "VersionAddendum", Tokens: tokensAll, Env: true, parse: addendum},
	{Name: "PermitLocalCommand", Default: no, parse: yesNo},
	{Name: "LocalCommand", Class: Warn, parse: command}, // see finisher.localPrograms
	{Name: "ChannelTimeout", Class: Ignore},
	{Name: "ObscureKeystrokeTiming", Class: Ignore},
	{Name: "StdinNull", Class: Ignore},
	{Name: "ForkAfterAuthentication", Class: Ignore},
	{Name: "EscapeChar", Class: Ignore},
	{Name: "EnableEscapeCommandline", Class: Ignore},
	{Name: "LogLevel", Class: Ignore},
	{Name: "LogVerbose", Class: Ignore},
	{Name: "SyslogFacility", Class: Ignore},
	{Name: "ControlMaster", Class: Ignore},
	{Name: "ControlPath", Class: Ignore},
	{Name: "ControlPersist", Class: Ignore},

	// Forwarding.
	{Name: "LocalForward", Class: Warn, Accumulates: true, parse: forward(2, 2), why: whyForward},
	{Name: "RemoteForward", Class: Warn, Accumulates: true, parse: forward(1, 2), why: whyForward},
	{Name: "DynamicForward", Class: Warn, Accumulates: true, parse: forward(1, 1), why: whyForward},
	{Name: "ExitOnForwardFailure", Default: no, parse: yesNo},
	{Name: "ClearAllForwardings", Default: no, parse: yesNo},
	{Name: "GatewayPorts", Class: Ignore},
	{Name: "PermitRemoteOpen", Class: Ignore},
	{Name: "StreamLocalBindMask", Class: Ignore},
	{Name: "StreamLocalBindUnlink", Class: Ignore},
	{Name: "ForwardX11", Class: Warn, parse: yesNo, safe: no, why: whyX11},
	{Name: "ForwardX11Trusted", Class: Ignore}, // means nothing without ForwardX11
	{Name: "ForwardX11Timeout", Class: Ignore},
	{Name: "XAuthLocation", Class: Ignore},
	{
		Name: "Tunnel", Class: Refuse, safe: no,
		parse: words("yes", "true=yes", "no", "false=no", "ethernet", "point-to-point"),
		why:   "tunnel devices are not opened; set Tunnel no for this host, or use ssh(1)",
	},
	{Name: "TunnelDevice", Class: Ignore},

	// Removed from OpenSSH, which skips them too.
	{Name: "Protocol", Class: Ignore},
	{Name: "Cipher", Class: Ignore},
	{Name: "UsePrivilegedPort", Class: Ignore},
	{Name: "UseRoaming", Class: Ignore},
	{Name: "FallBackToRsh", Class: Ignore},
	{Name: "RhostsAuthentication", Class: Ignore},
	{Name: "UseRsh", Class: Ignore},
	{Name: "GlobalKnownHostsFile2", Class: Ignore},
	{Name: "UserKnownHostsFile2", Class: Ignore},
	{Name: "RSAAuthentication", Class: Ignore},
	{Name: "RhostsRSAAuthentication", Class: Ignore},
	{Name: "CompressionLevel", Class: Ignore},
	{Name: "KerberosAuthentication", Class: Ignore},
	{Name: "KerberosTgtPassing", Class: Ignore},
	{Name: "AFSTokenPassing", Class: Ignore},
}

// yes and no are the defaults of the keywords with these two values.
var (
	yes = []string{"yes"}
	no  = []string{"no"}
)

// byName maps a name or an alias in lower case to its row of keywords.
var byName = func() map[string]*Keyword {
	m := make(map[string]*Keyword, len(keywords))
	for i := range keywords {
		k := &keywords[i]
		m[strings.ToLower(k.Name)] = k
		for _, alias := range k.Aliases {
			m[strings.ToLower(alias)] = k
		}
	}
	return m
}()

// Keywords returns the table of all keywords, grouped by subject.
func Keywords() []Keyword { return slices.Clone(keywords) }

// lookup returns the row for a keyword in any case, or nil.
func lookup(name string) *Keyword { return byName[strings.ToLower(name)] }
